import { LRUCache } from 'lru-cache'
import { parseTransaction } from 'viem/utils'
import type { Chain } from '../chain/chain.js'
import type { Broadcast, FeeValues } from '../chain/types.js'
import type {
  LedgerStore,
  PendingRelayer,
  RelayerTransaction,
  Submission,
} from '../../ledger/index.js'
import { LISTED_TRANSACTIONS, LOOK_AFTER_MS } from '../../ledger/index.js'
import type { Logger } from '../../shared/logger.js'
import type { Address, Hex } from '../../shared/protocol/payment.js'
import { bumpFees, feesWithin } from './fees.js'
import { isForNow, type Refusals } from './refusals.js'
import type { Sign, TransactionRequest } from './transaction.js'
import { world } from '../../shared/world.js'

/**
 * How long the node may reject a transaction before an empty one takes its place (ms): all later ones wait
 * for it. Words that are not in our table may be about the moment.
 */
const GIVE_UP_MS = { never_valid: 5000, other: 60_000 }

/** Pause between two attempts while the node refuses for the moment (ms): it doubles up to the longest. */
const REFUSED_PAUSE_MS = { first: 500, longest: 4000 }

/** Gas of a transaction that does nothing but use a nonce. */
const EMPTY_TRANSACTION_GAS = 21_000n

/**
 * How long a refund waits for its payment to be mined again (ms), and later transactions for the
 * refund. A payment that a reorganisation dropped is broadcast again within a second or two.
 */
const AWAIT_PAYMENT_MS = 20_000

/** Replacements that are remembered. */
const REMEMBERED = 1000

/** Tells what the chain says now of a payment, by the id of its record. */
export type JudgePayment = (payment: string) => Promise<'paid' | 'failed' | 'open'>

export interface ResubmitterOptions {
  readonly chain: Chain
  readonly ledger: LedgerStore
  readonly address: Address
  readonly sign: Sign
  readonly refusals: Refusals
  /** Asked about the payment that a refund pays back, before the refund is sent again. */
  readonly judgePayment: JudgePayment
  /** Most wei per gas that a transaction may offer. */
  readonly maxFeePerGas?: bigint | undefined
  /** How long a transaction may wait to be mined before it is replaced (ms). */
  readonly stuckMs: number
  readonly logger: Logger
}

interface Refused {
  readonly transaction: Hex
  /** The account's mined nonce then: after a block it may be taken. */
  readonly minedNonce: number
  readonly pauseMs: number
  /** When it is sent again, by `world.elapsed()`. */
  readonly until: number
}

interface ParsedTransaction {
  readonly request: Pick<TransactionRequest, 'call' | 'gas'>
  readonly fees: FeeValues
}

/**
 * Makes sure that every account nonce that was handed out is used in the end.
 *
 * It works from the ledger alone, whichever process has sent a transaction. One that the node does not
 * have is broadcast; one that the node refuses for the moment waits with its bytes and its nonce. One
 * that is stuck while blocks are mined is replaced with higher fees. A nonce that no payment needs any
 * more is used by an empty transaction.
 *
 * A reorganisation may drop a refund together with its payment. The refund is sent again once the payment
 * is mined again. If that does not happen, the refund's nonce is no longer needed either.
 */
export class Resubmitter {
  readonly #options: ResubmitterOptions
  /** The first nonce that was not mined when the chain was last asked, and the block then. */
  #waiting: { readonly nonce: number; readonly block: bigint } | undefined
  /** When this node first rejected a transaction for good, by `world.elapsed()`. */
  readonly #rejectedAt = new LRUCache<Hex, number>({ max: REMEMBERED })
  /** Since when a refund has waited for its payment, by `world.elapsed()`. */
  readonly #awaitedSince = new LRUCache<Hex, number>({ max: REMEMBERED })
  /** The transaction that the node refuses for the moment; those after it wait too. */
  #refused: Refused | undefined
  /** The last transaction that was logged as too expensive to replace. */
  #tooDear: Hex | undefined
  readonly #replacements = new LRUCache<Hex, Hex>({ max: REMEMBERED })

  constructor(options: ResubmitterOptions) {
    this.#options = options
  }

  /** A transaction's own hash, those it replaced, and those that replaced it, newest first. */
  hashesOf({ transaction, replaces = [] }: Submission): readonly Hex[] {
    const hashes = [transaction, ...replaces]
    let next = this.#replacements.get(transaction)
    for (; next !== undefined; next = this.#replacements.get(next)) hashes.unshift(next)
    return hashes
  }

  /**
   * Looks after all transactions that are not mined.
   *
   * @returns The chain's next account nonce, pending transactions excluded.
   */
  async check(pending: PendingRelayer): Promise<number> {
    const { chain, ledger, address } = this.#options
    const [minedNonce, waitingNonce] = await Promise.all([
      chain.getMinedNonce(address),
      chain.getPendingNonce(address),
    ])
    if (minedNonce !== pending.minedNonce) await ledger.relayers.noteMinedNonce(pending, minedNonce)
    if (minedNonce >= pending.nextNonce) return minedNonce
    const now = { ...pending, minedNonce }
    if (waitingNonce < pending.nextNonce) await this.#sendMissing(now, waitingNonce)
    else this.#refused = undefined
    // Higher fees help no transaction that the node has never taken.
    const isRefused = this.#refused !== undefined && waitingNonce <= minedNonce
    if (!isRefused) await this.#replaceStuck(now, minedNonce)
    return minedNonce
  }

  /**
   * Writes down a transaction in place of one that offers less.
   *
   * @returns The new one, to be broadcast; `undefined` if it would cost too much, or another process
   * has replaced the old one.
   */
  async reprice(one: Submission): Promise<Submission | undefined> {
    const { chain, ledger, sign, maxFeePerGas, logger } = this.#options
    const { request, fees: earlierFees } = parse(one)
    const fees = bumpFees(earlierFees, await chain.getFees(), maxFeePerGas)
    if (fees === undefined) {
      if (this.#tooDear !== one.transaction)
        logger.warn('Gas costs too much to replace a stuck transaction.', {
          network: chain.network.caip2,
          relayer: this.#options.address,
        })
      this.#tooDear = one.transaction
      return undefined
    }
    const { transaction, accountNonce, replaces = [] } = one
    const signed = await sign(request, accountNonce, fees)
    const next = { ...signed, replaces: [transaction, ...replaces] }
    const isReplaced = await ledger.relayers.replaceTransaction(
      chain.network.chainId,
      transaction,
      next,
    )
    if (!isReplaced) return undefined
    this.#replacements.set(transaction, next.transaction)
    return next
  }

  async #resend(one: Submission): Promise<void> {
    const next = await this.reprice(one)
    if (next !== undefined) await this.#broadcast(next)
  }

  async #broadcast({ raw }: Submission): Promise<Broadcast> {
    const { chain, refusals } = this.#options
    return refusals.report(await chain.broadcast(raw))
  }

  /** Broadcasts transactions that the node does not have, from the first nonce that it waits for. */
  async #sendMissing(pending: PendingRelayer, fromNonce: number): Promise<void> {
    const listed = await this.#options.ledger.relayers.listTransactions(pending, fromNonce)
    const byNonce = new Map(listed.map((one) => [one.accountNonce, one]))
    const end = Math.min(pending.nextNonce, fromNonce + LISTED_TRANSACTIONS)
    if (this.#isPausing(pending, byNonce.get(fromNonce))) return
    for (let nonce = fromNonce; nonce < end; nonce++) {
      const one = byNonce.get(nonce)
      if (one !== undefined && one.ageMs < LOOK_AFTER_MS.age) continue
      const sent = await (one === undefined ? this.#fill(nonce) : this.#sendAgain(one))
      if (sent !== undefined && isForNow(sent)) return this.#pause(pending, one)
    }
    this.#refused = undefined
  }

  /** Whether the first missing transaction was refused a moment ago, and no block was mined since. */
  #isPausing({ minedNonce }: PendingRelayer, first: RelayerTransaction | undefined): boolean {
    const refused = this.#refused
    if (refused === undefined || refused.transaction !== first?.transaction) return false
    // A transaction that no payment needs any more is replaced at once.
    if (!first.isNeeded && !this.#isEmpty(first)) return false
    return refused.minedNonce === minedNonce && world.elapsed() < refused.until
  }

  /** Waits longer each time before the same transaction is sent again. */
  #pause({ minedNonce }: PendingRelayer, one: RelayerTransaction | undefined): void {
    if (one === undefined) return
    const past = this.#refused
    const isSame = past?.transaction === one.transaction && past.minedNonce === minedNonce
    const pauseMs = isSame
      ? Math.min(past.pauseMs * 2, REFUSED_PAUSE_MS.longest)
      : REFUSED_PAUSE_MS.first
    const { transaction } = one
    this.#refused = { transaction, minedNonce, pauseMs, until: world.elapsed() + pauseMs }
  }

  /** @returns What the node said of what was sent, if anything was. */
  async #sendAgain(one: RelayerTransaction): Promise<Broadcast | undefined> {
    const isEmpty = this.#isEmpty(one)
    const use = await this.#nextUse(one)
    if (use === 'wait') return undefined
    if (use === 'fill') return this.#fill(one.accountNonce, one)
    const broadcast = await this.#broadcast(one)
    if (broadcast.kind !== 'rejected') return broadcast
    const { cause, words } = broadcast
    if (cause === 'fee_too_low') await this.#resend(one)
    if (cause !== 'never_valid' && cause !== 'other') return broadcast
    const rejectedAt = this.#rejectedAt.get(one.transaction) ?? world.elapsed()
    this.#rejectedAt.set(one.transaction, rejectedAt)
    if (isEmpty || world.elapsed() - rejectedAt < GIVE_UP_MS[cause]) return broadcast
    this.#options.logger.warn('A transaction is given up: the node has rejected it for too long.', {
      network: this.#options.chain.network.caip2,
      relayer: this.#options.address,
      transaction: one.transaction,
      node: words,
    })
    return this.#fill(one.accountNonce, one)
  }

  /** Replaces the first transaction if it is stuck, and later ones that offer less than a new one. */
  async #replaceStuck(pending: PendingRelayer, nonce: number): Promise<void> {
    const { chain, ledger, stuckMs } = this.#options
    const block = await chain.getBlockNumber()
    if (this.#waiting?.nonce !== nonce) this.#waiting = { nonce, block }
    if (block <= this.#waiting.block) return
    const [first, ...others] = await ledger.relayers.listTransactions(pending, nonce)
    if (first?.accountNonce !== nonce || first.ageMs < stuckMs) return
    const { maxFeePerGas } = await chain.getFees()
    const cheap = others.filter((one) => parse(one).fees.maxFeePerGas < maxFeePerGas)
    for (const one of [first, ...cheap]) {
      const use = await this.#nextUse(one)
      if (use === 'send') await this.#resend(one)
      else if (use === 'fill') await this.#fill(one.accountNonce, one)
    }
    this.#waiting = undefined
  }

  /** Whether a transaction is sent again, an empty one takes its nonce, or that is not known yet. */
  async #nextUse(one: RelayerTransaction): Promise<'send' | 'fill' | 'wait'> {
    if (this.#isEmpty(one)) return 'send'
    if (!one.isNeeded) return 'fill'
    const { transaction, refundOf } = one
    if (refundOf === undefined) return 'send'
    const { chain, address, judgePayment, logger } = this.#options
    const outcome = await judgePayment(refundOf)
    if (outcome === 'paid') {
      this.#awaitedSince.delete(transaction)
      return 'send'
    }
    const since = this.#awaitedSince.get(transaction) ?? world.elapsed()
    this.#awaitedSince.set(transaction, since)
    if (outcome === 'open' && world.elapsed() - since < AWAIT_PAYMENT_MS) return 'wait'
    logger.warn('A refund is given up: the chain has dropped the payment that it pays back.', {
      network: chain.network.caip2,
      relayer: address,
      transaction,
      payment: refundOf,
    })
    return 'fill'
  }

  /** Uses a nonce for a transaction that moves nothing. */
  async #fill(accountNonce: number, earlier?: Submission): Promise<Broadcast | undefined> {
    const { chain, ledger, address, sign, maxFeePerGas } = this.#options
    const current = await chain.getFees()
    const bumped = earlier && bumpFees(parse(earlier).fees, current, maxFeePerGas)
    const fees = bumped ?? feesWithin(current, maxFeePerGas)
    if (fees === undefined) return undefined // Until gas costs less, the nonce waits.
    const call = { to: address, data: '0x' } as const
    const signed = await sign({ call, gas: EMPTY_TRANSACTION_GAS }, accountNonce, fees)
    const empty =
      earlier === undefined
        ? signed
        : { ...signed, replaces: [earlier.transaction, ...(earlier.replaces ?? [])] }
    const isFilled = await ledger.relayers.fillNonce(
      chain.network.chainId,
      empty,
      earlier?.transaction,
    )
    return isFilled ? this.#broadcast(empty) : undefined
  }

  #isEmpty({ raw }: Submission): boolean {
    const { to, data } = parseTransaction(raw)
    return data === undefined && to?.toLowerCase() === this.#options.address.toLowerCase()
  }
}

function parse({ raw, relayer }: Submission): ParsedTransaction {
  const {
    to,
    data = '0x',
    gas = 0n,
    maxFeePerGas = 0n,
    maxPriorityFeePerGas = 0n,
  } = parseTransaction(raw)
  return {
    request: { call: { to: to ?? relayer, data }, gas },
    fees: { maxFeePerGas, maxPriorityFeePerGas },
  }
}
