import { LRUCache } from 'lru-cache'
import { growingTo } from '../../../../shared/growing-to.js'
import { padHex } from 'viem/utils'
import type { Receipt } from '../../../chain/types.js'
import { recordId, type PaymentStore } from '../../../../ledger/index.js'
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import type { Address, Hex } from '../../../../shared/protocol/payment.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'
import type { CodeGas, GasOfCode } from './code-gas.js'
import type { CheckedTransfer } from './gas-limits.js'
import { HOUR_MS, lapseOf, PAID_PER_FAILURE, PayerPlaces, REMEMBERED } from './payer-places.js'
import { world } from '../../../../shared/world.js'

/** How long a payer waits after a failure (ms); four times as long after each further one, an hour at most. */
const FIRST_WAIT_MS = 10_000

/** Gas that every wallet code may lose us within two hours, even if it has never paid. */
const FREE_GAS = 1_000_000n

/** Gas that all codes together may lose us within two hours beyond what they have earned; also all payers without code. */
const FREE_GAS_OF_ALL = 5n * FREE_GAS

/** Stands for the code of all payers without. */
const NO_CODE = padHex('0x')

/** Gas of a transfer in a batch. */
const SHARE_OF_BATCH_GAS = 60_000n

/** Begins the code hash of {@link factoryCodeHash}: no real hash begins like this. */
const FACTORY_PREFIX = `0x${'0'.repeat(24)}`

/** The code hash under which accounts count before they have code. A factory can make any number of codes. */
export function factoryCodeHash(factory: Address): Hex {
  return padHex(factory)
}

export interface PayerGuardOptions {
  /** Gas that payments of each wallet code took and lost. */
  readonly codeGas: CodeGas
  /** Tells what a payer has paid before. */
  readonly payments: Pick<PaymentStore, 'list'>
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Whether accounts with code may pay. @defaultValue true */
  readonly acceptContractPayers?: boolean | undefined
  /** Called when more gas was lost within an hour than all codes together may lose. */
  readonly onLoss?: ((loss: { readonly gas: bigint }) => void) | undefined
}

/** A payment of a payer with code that could cost us. */
interface PendingGas {
  readonly codeHash: Hex
  readonly gas: bigint
  /** Milliseconds since the epoch after which it can no longer be mined. */
  readonly lapsesAt: number
}

/** How often a payer has failed, and until when it is refused for that, by `world.elapsed()`. */
interface Failures {
  readonly count: number
  readonly until: number
}

interface MinedGas {
  readonly gasUsed: bigint
  /** Lost, and not counted yet. */
  readonly lost: bigint
  /** Whether it was to deploy an account that somebody else had deployed. */
  readonly isForestalled?: boolean
}

/**
 * Keeps payers from making us pay for transactions that fail. No simulation foresees what a payer's code
 * does in the real transaction, nor that a plain account gets code before it.
 *
 * 1. A payer whose transfer failed waits, longer each time ({@link FIRST_WAIT_MS}).
 * 2. A payer that never paid has few payments on their way ({@link PayerPlaces}).
 * 3. What a wallet code has lost us, and what it has pending, is covered by what its payments have earned.
 *    Beyond that each code has a little gas for free, and all codes together have some ({@link FREE_GAS}). No code
 *    pays for the failures of another, nor for a deployment that somebody else forestalled. Payers without code count
 *    as if all had one: beyond the little, those that never paid go alone and one by one, and beyond the rest they are
 *    refused.
 */
export class PayerGuard {
  readonly #options: PayerGuardOptions
  readonly #failures = new LRUCache<Address, Failures>(growingTo(REMEMBERED))
  /** Code hash of each payer that had code when it was seen last. */
  readonly #codes = new LRUCache<Address, Hex>(growingTo(REMEMBERED))
  readonly places: PayerPlaces
  readonly #receipts = new LRUCache<Hex, MinedGas>(growingTo(REMEMBERED))
  /** By record. */
  readonly #pending = new Map<string, PendingGas>()
  /** Gas that this process has lost within an hour, and when, by `world.elapsed()`. */
  #losses: { readonly gas: bigint; readonly at: number }[] = []
  /** Whether `onLoss` was called, and the budget is not half free again. */
  #isReported = false

  constructor(options: PayerGuardOptions) {
    const { codeGas, payments, now } = options
    this.#options = options
    this.places = new PayerPlaces({
      chainId: codeGas.chainId,
      payments,
      now,
      isCautious: () => this.#lostWithoutCode() > FREE_GAS,
    })
  }

  /** Why a payer is refused now. Remembers its code. Losses of strangers stop no refund: its payer is known. */
  async refusalOf(
    payer: Address,
    codeHash: Hex | undefined,
    isRefund = false,
  ): Promise<Reason | undefined> {
    if (codeHash === undefined) this.#codes.delete(payer)
    else this.#codes.set(payer, codeHash)
    if ((this.#failures.get(payer)?.until ?? -Infinity) > world.elapsed())
      return 'payer_temporarily_refused'
    if (codeHash !== undefined && this.#options.acceptContractPayers === false)
      return 'contract_payer_not_accepted'
    await this.#options.codeGas.refresh()
    const mayPay =
      codeHash !== undefined
        ? this.#mayLose(codeHash, 0n)
        : isRefund ||
          this.#lostWithoutCode() <= FREE_GAS_OF_ALL ||
          (await this.places.learnStanding(payer)) > 0
    return mayPay ? undefined : 'payer_temporarily_refused'
  }

  /**
   * Counts the gas that a payment about to be sent could cost us, until it has ended or its
   * authorization has lapsed.
   *
   * @param validBefore - Unix seconds.
   * @returns Whether it may be sent.
   */
  take(
    key: PaymentKey,
    { simulation: { codeHash }, limit }: CheckedTransfer,
    validBefore: bigint,
  ): boolean {
    const id = recordId(key)
    if (codeHash === undefined || limit === undefined || this.#pending.has(id)) return true
    if (!this.#mayLose(codeHash, limit.gas)) return false
    this.#pending.set(id, {
      codeHash,
      gas: limit.gas,
      lapsesAt: lapseOf(validBefore, this.#options.now()),
    })
    return true
  }

  #lostWithoutCode(): bigint {
    return uncovered(this.#options.codeGas.all().get(NO_CODE), 0n)
  }

  end(key: PaymentKey): void {
    this.#pending.delete(recordId(key))
    this.places.end(key)
  }

  addReceipt({ transaction, gasUsed, logs }: Receipt): void {
    if (this.#receipts.has(transaction)) return
    // If other members were paid, only the share of those that failed was lost.
    this.#receipts.set(transaction, { gasUsed, lost: logs.length === 0 ? gasUsed : 0n })
  }

  /** Whether the failure of a payment would count against the factory of its payer's account. */
  blamesFactory(key: PaymentKey): boolean {
    return this.#codeOf(key)?.startsWith(FACTORY_PREFIX) === true
  }

  /**
   * Blames nobody for a transaction: the account that it was to deploy has code already. Anybody can deploy it first,
   * so neither its factory nor its code is at fault.
   */
  excuse(transaction: Hex): void {
    const { gasUsed = 0n, lost = 0n, isForestalled } = this.#receipts.get(transaction) ?? {}
    if (isForestalled) return
    this.#receipts.set(transaction, { gasUsed, lost: 0n, isForestalled: true })
    this.#countLoss(lost)
  }

  countFailed(key: PaymentKey, transaction: Hex): void {
    const { gasUsed = 0n, lost = 0n, isForestalled } = this.#receipts.get(transaction) ?? {}
    if (isForestalled) return this.#backOff(key.from, false)
    // The gas of a whole transaction is lost once, however many members failed.
    this.#receipts.set(transaction, { gasUsed, lost: 0n })
    const gas = lost > SHARE_OF_BATCH_GAS ? lost : SHARE_OF_BATCH_GAS
    const codeHash = this.#codeOf(key)
    if (codeHash !== undefined) this.#options.codeGas.add(codeHash, 'lost', gas)
    // An account that got its code after it was simulated was trusted as one without.
    if (!this.#pending.has(recordId(key))) this.#options.codeGas.add(NO_CODE, 'lost', gas)
    this.places.countFailed(key.from)
    this.#countLoss(gas)
    this.#backOff(key.from, codeHash !== undefined)
  }

  countPaid(key: PaymentKey, transaction: Hex): void {
    this.#failures.delete(key.from)
    this.places.countPaid(key.from)
    const codeHash = this.#codeOf(key)
    const gas = this.#receipts.get(transaction)?.gasUsed
    if (gas === undefined) return
    // With code it went alone: all gas of its transaction is its own.
    this.#options.codeGas.add(codeHash ?? NO_CODE, 'paid', codeHash ? gas : SHARE_OF_BATCH_GAS)
  }

  /** The code that a payment was sent for: its payer may have changed it since. */
  #codeOf(key: PaymentKey): Hex | undefined {
    return this.#pending.get(recordId(key))?.codeHash ?? this.#codes.get(key.from)
  }

  #backOff(payer: Address, hasCode: boolean): void {
    const count = (this.#failures.get(payer)?.count ?? 0) + 1
    // Without code, the first has no consequence: money can be spent twice by mistake.
    const counted = hasCode ? count : count - 1
    const waitMs = counted > 0 ? Math.min(FIRST_WAIT_MS * 4 ** (counted - 1), HOUR_MS) : 0
    this.#failures.set(payer, { count, until: world.elapsed() + waitMs })
  }

  #mayLose(codeHash: Hex, gas: bigint): boolean {
    const pending = this.#pendingGas()
    pending.set(codeHash, (pending.get(codeHash) ?? 0n) + gas)
    const known = this.#options.codeGas.all()
    const uncoveredOf = (code: Hex): bigint => uncovered(known.get(code), pending.get(code) ?? 0n)
    const own = uncoveredOf(codeHash)
    if (own === 0n) return true
    if (own > FREE_GAS) return false
    let all = 0n
    for (const code of new Set([...known.keys(), ...pending.keys()]))
      if (code !== NO_CODE) all += uncoveredOf(code)
    if (all <= FREE_GAS_OF_ALL) return true
    this.#reportLoss(all)
    return false
  }

  /** Gas pending of each code; forgets what has lapsed. */
  #pendingGas(): Map<Hex, bigint> {
    const now = this.#options.now()
    const pending = new Map<Hex, bigint>()
    for (const [id, { codeHash, gas, lapsesAt }] of this.#pending)
      if (lapsesAt < now) this.#pending.delete(id)
      else pending.set(codeHash, (pending.get(codeHash) ?? 0n) + gas)
    return pending
  }

  #countLoss(gas: bigint): void {
    this.#losses.push({ gas, at: world.elapsed() })
    this.#reportLoss()
  }

  /** Reports once that the budget is used up, and again only after half of it was free. */
  #reportLoss(atLeast = 0n): void {
    const since = world.elapsed() - HOUR_MS
    this.#losses = this.#losses.filter(({ at }) => at >= since)
    const lost = this.#losses.reduce((sum, { gas }) => sum + gas, 0n)
    const gas = lost > atLeast ? lost : atLeast
    const isBeyond = gas > FREE_GAS_OF_ALL
    if (isBeyond && !this.#isReported) this.#options.onLoss?.({ gas })
    this.#isReported = isBeyond || (this.#isReported && gas > FREE_GAS_OF_ALL / 2n)
  }
}

/** Gas of a code, lost lately or pending, that what it has earned before does not cover. */
function uncovered(known: GasOfCode | undefined, pending: bigint): bigint {
  if (known === undefined) return pending
  const { paid, lost, lostLately } = known
  const credit = paid / BigInt(PAID_PER_FAILURE) - (lost - lostLately)
  const risk = lostLately + pending - (credit > 0n ? credit : 0n)
  return risk > 0n ? risk : 0n
}
