import { LRUCache } from 'lru-cache'
import { parseTransaction } from 'viem/utils'
import type { Chain, FeeValues } from '../chain/chain.js'
import type {
  LedgerStore,
  PendingRelayer,
  RelayerTransaction,
  Submission,
} from '../ledger/ledger.js'
import { LISTED_TRANSACTIONS, LOOK_AFTER_MS } from '../ledger/ledger.js'
import type { Logger } from '../logger.js'
import type { Address, Hex } from '../protocol/payment.js'
import { bumpFees, feesWithin } from './fees.js'
import type { Sign, TransactionRequest } from './transaction.js'

/** Milliseconds after which an empty transaction takes the place of one that the node rejects. */
const REJECTED_MS = 5000

/** Gas of a transaction that does nothing but use a nonce. */
const EMPTY_TRANSACTION_GAS = 21_000n

/** Replacements that are remembered. */
const REMEMBERED = 1000

/** Options of {@link Resubmitter}. */
export interface ResubmitterOptions {
  readonly chain: Chain
  readonly ledger: LedgerStore
  readonly address: Address
  readonly sign: Sign
  /** Most wei per gas that a transaction may offer. */
  readonly maxFeePerGas?: bigint | undefined
  /** Milliseconds after which a transaction that is not mined is replaced. */
  readonly stuckMs: number
  readonly logger: Logger
}

/** What a signed transaction was made of. */
interface ParsedTransaction {
  readonly request: Pick<TransactionRequest, 'call' | 'gas'>
  readonly fees: FeeValues
}

/**
 * Makes sure that every account nonce that was handed out is used in the end.
 *
 * It works from the ledger alone, whichever process has sent a transaction. One that the node does not
 * have is broadcast. One that is stuck while blocks are mined is replaced with higher fees. A nonce
 * that no payment needs any more is used by an empty transaction.
 */
export class Resubmitter {
  readonly #options: ResubmitterOptions
  /** The first nonce that was not mined when the chain was last asked, and the block then. */
  #waiting: { readonly nonce: number; readonly block: bigint } | undefined
  /** The last transaction that was logged as too expensive to replace. */
  #tooDear: Hex | undefined
  /** Hashes of replacements, by the hash of what they replaced. */
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
   * @throws {@link ChainError}, {@link LedgerError}
   */
  async check(pending: PendingRelayer): Promise<number> {
    const { chain, ledger, address } = this.#options
    const [minedNonce, waitingNonce] = await Promise.all([
      chain.getMinedNonce(address),
      chain.getPendingNonce(address),
    ])
    if (minedNonce !== pending.minedNonce) await ledger.noteMinedNonce(pending, minedNonce)
    if (minedNonce >= pending.nextNonce) return minedNonce
    if (waitingNonce < pending.nextNonce) await this.#sendMissing(pending, waitingNonce)
    await this.#replaceStuck(pending, minedNonce)
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
    const isReplaced = await ledger.replaceTransaction(chain.network.chainId, transaction, next)
    if (!isReplaced) return undefined
    this.#replacements.set(transaction, next.transaction)
    return next
  }

  async #resend(one: Submission): Promise<void> {
    const next = await this.reprice(one)
    if (next !== undefined) await this.#options.chain.broadcast(next.raw)
  }

  /** Broadcasts transactions that the node does not have, from the first nonce that it waits for. */
  async #sendMissing(pending: PendingRelayer, fromNonce: number): Promise<void> {
    const listed = await this.#options.ledger.listTransactions(pending, fromNonce)
    const byNonce = new Map(listed.map((one) => [one.accountNonce, one]))
    const end = Math.min(pending.nextNonce, fromNonce + LISTED_TRANSACTIONS)
    for (let nonce = fromNonce; nonce < end; nonce++) {
      const one = byNonce.get(nonce)
      if (one === undefined) await this.#fill(nonce)
      else if (one.ageMs >= LOOK_AFTER_MS.age) await this.#sendAgain(one)
    }
  }

  async #sendAgain(one: RelayerTransaction): Promise<void> {
    const isEmpty = this.#isEmpty(one)
    if (!one.isNeeded && !isEmpty) return this.#fill(one.accountNonce, one)
    const broadcast = await this.#options.chain.broadcast(one.raw)
    if (broadcast.kind !== 'rejected') return
    if (broadcast.cause === 'fee_too_low') await this.#resend(one)
    const isHopeless = broadcast.cause === 'other' && one.ageMs >= REJECTED_MS
    if (isHopeless && !isEmpty) await this.#fill(one.accountNonce, one)
  }

  /** Replaces the first transaction if it is stuck, and later ones that offer less than a new one. */
  async #replaceStuck(pending: PendingRelayer, nonce: number): Promise<void> {
    const { chain, ledger, stuckMs } = this.#options
    const block = await chain.getBlockNumber()
    if (this.#waiting?.nonce !== nonce) this.#waiting = { nonce, block }
    if (block <= this.#waiting.block) return
    const [first, ...others] = await ledger.listTransactions(pending, nonce)
    if (first?.accountNonce !== nonce || first.ageMs < stuckMs) return
    const { maxFeePerGas } = await chain.getFees()
    const cheap = others.filter((one) => parse(one).fees.maxFeePerGas < maxFeePerGas)
    for (const one of [first, ...cheap])
      if (one.isNeeded || this.#isEmpty(one)) await this.#resend(one)
      else await this.#fill(one.accountNonce, one)
    this.#waiting = undefined
  }

  /** Uses a nonce for a transaction that moves nothing. */
  async #fill(accountNonce: number, earlier?: Submission): Promise<void> {
    const { chain, ledger, address, sign, maxFeePerGas } = this.#options
    const current = await chain.getFees()
    const bumped = earlier && bumpFees(parse(earlier).fees, current, maxFeePerGas)
    const fees = bumped ?? feesWithin(current, maxFeePerGas)
    if (fees === undefined) return // Until gas costs less, the nonce waits.
    const call = { to: address, data: '0x' } as const
    const signed = await sign({ call, gas: EMPTY_TRANSACTION_GAS }, accountNonce, fees)
    const empty =
      earlier === undefined
        ? signed
        : { ...signed, replaces: [earlier.transaction, ...(earlier.replaces ?? [])] }
    if (await ledger.fillNonce(chain.network.chainId, empty, earlier?.transaction))
      await chain.broadcast(empty.raw)
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
