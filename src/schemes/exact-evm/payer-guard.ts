import { LRUCache } from 'lru-cache'
import type { Receipt } from '../../chain/chain.js'
import { recordId, type AuthorizationKey } from '../../ledger/ledger.js'
import type { Address, Hex } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import type { CheckedTransfer } from './verify/checked-transfer.js'

/** Payers, codes and transactions that are remembered. */
const REMEMBERED = 10_000

/** Milliseconds for which a payer is refused after a failure; four times as long after each further one. */
const BACK_OFF_MS = { first: 10_000, factor: 4, longest: 3_600_000 }

/** Failures of payers without code that have no consequence: money can be spent twice by mistake. */
const FREE_FAILURES = 1

/** Gas from which a failure counts as the code's own: a refused transfer takes less. */
const COSTLY_FAILURE_GAS = 250_000n

/** Payers of the same code whose transfers must have failed before all of them are refused. */
const MOST_PAYERS_OF_CODE = 3

/** Failed payers remembered per code: a few more than are counted. */
const REMEMBERED_PAYERS_OF_CODE = 100

/** Milliseconds over which gas lost to failed transfers is counted. */
const BUDGET_WINDOW_MS = 3_600_000

/** Gas that may be lost in that time before payers with code are refused. */
const BUDGET_GAS = 5_000_000n

/** Gas that payers of one code may have pending: as much again for each that has paid, up to ten. */
const PENDING_GAS_OF_CODE = { first: 1_000_000n, most: 10_000_000n }

/** Payments of a code after which it counts as known: its pending gas no longer counts as lost. */
const PAYMENTS_OF_KNOWN_CODE = 20

/** Milliseconds for which a payment is pending after its authorization has ended, and at most in all. */
const LAPSE_MARGIN_MS = 60_000
const LONGEST_PENDING_MS = 3_600_000

/** Gas of a transfer that fails in a batch whose other members succeed. */
const SHARE_OF_BATCH_GAS = 60_000n

/** Options of {@link PayerGuard}. */
export interface PayerGuardOptions {
  /** Whether accounts with code may pay. @defaultValue true */
  readonly acceptContractPayers?: boolean | undefined
  /** Called when more gas was lost within an hour than payers with code may cost. */
  readonly onLoss?: ((loss: { readonly gas: bigint }) => void) | undefined
}

/** A payment of a payer with code that could cost us. */
interface PendingGas {
  readonly codeHash: Hex
  readonly gas: bigint
  /** Milliseconds since the epoch after which it can no longer be mined. */
  readonly lapsesAt: number
}

/** How often a payer has failed, and until when it is refused for that, by `performance.now()`. */
interface Failures {
  readonly count: number
  readonly until: number
}

/** Gas that was lost, and when, by `performance.now()`. */
interface Loss {
  readonly gas: bigint
  /** Whether its payer had code. */
  readonly isOfCode: boolean
  readonly at: number
}

/**
 * Keeps payers from making us pay for transactions that fail.
 *
 * No simulation foresees what a payer's code does in the real transaction, so this counts what it did.
 * A payer whose transfer failed has to wait, longer each time. Payers of one code wait too, once several
 * of them have failed and fewer have paid. Beyond a budget, no payer with code is taken for a while.
 */
export class PayerGuard {
  readonly #acceptsCode: boolean
  readonly #onLoss: PayerGuardOptions['onLoss']
  readonly #failures = new LRUCache<Address, Failures>({ max: REMEMBERED })
  /** Code hash of each payer that has code. */
  readonly #codes = new LRUCache<Address, Hex>({ max: REMEMBERED })
  /** By code hash: payers whose transfers failed, and when. */
  readonly #failedOfCode = new LRUCache<Hex, Map<Address, number>>({ max: REMEMBERED })
  /** By code hash: payments that succeeded. */
  readonly #paidOfCode = new LRUCache<Hex, number>({ max: REMEMBERED, ttl: BUDGET_WINDOW_MS })
  /** By transaction: gas that it lost and that no payer was charged with yet. */
  readonly #receipts = new LRUCache<Hex, bigint>({ max: REMEMBERED })
  /** By record. */
  readonly #pending = new Map<string, PendingGas>()
  #losses: Loss[] = []
  /** Whether `onLoss` was called, and the budget is not half free again. */
  #isReported = false

  constructor({ acceptContractPayers = true, onLoss }: PayerGuardOptions = {}) {
    this.#acceptsCode = acceptContractPayers
    this.#onLoss = onLoss
  }

  /** Why a payer is refused now. Remembers its code. */
  refusalOf(payer: Address, codeHash: Hex | undefined): Reason | undefined {
    if (codeHash === undefined) this.#codes.delete(payer)
    else this.#codes.set(payer, codeHash)
    const now = performance.now()
    if ((this.#failures.get(payer)?.until ?? -Infinity) > now) return 'payer_temporarily_refused'
    if (codeHash === undefined) return undefined
    if (!this.#acceptsCode) return 'contract_payer_not_accepted'
    return !this.#mayLose(codeHash) || this.#isCodeRefused(codeHash)
      ? 'payer_temporarily_refused'
      : undefined
  }

  /**
   * Counts the gas that a payment about to be sent could cost us, until it has ended or its
   * authorization has lapsed.
   *
   * @param validBefore - Unix seconds.
   * @returns Whether it may be sent: payers of the same code, or of unknown code, may have too much
   * gas pending.
   */
  take(
    key: AuthorizationKey,
    { simulation: { codeHash }, limit }: CheckedTransfer,
    validBefore: bigint,
  ): boolean {
    if (codeHash === undefined || limit === undefined || this.#pending.has(recordId(key)))
      return true
    const now = Date.now()
    const [ofCode, ofUnknown] = this.#pendingWith(codeHash, limit.gas, now)
    const { first, most } = PENDING_GAS_OF_CODE
    const allowed = first * BigInt(1 + this.#paymentsOf(codeHash))
    if (ofCode > (allowed < most ? allowed : most)) return false
    if (!this.#mayLose(codeHash, this.#isKnownCode(codeHash) ? limit.gas : ofUnknown)) return false
    const lapsesAt = Math.min(
      Number(validBefore) * 1000 + LAPSE_MARGIN_MS,
      now + LONGEST_PENDING_MS,
    )
    this.#pending.set(recordId(key), { codeHash, gas: limit.gas, lapsesAt })
    return true
  }

  /** Ends what {@link take} counted: the payment is over. */
  end(key: AuthorizationKey): void {
    this.#pending.delete(recordId(key))
  }

  /** Notes what a mined transaction cost. */
  noteReceipt({ transaction, gasUsed, logs }: Receipt): void {
    if (this.#receipts.has(transaction)) return
    // If other members were paid, only the share of those that failed was lost.
    this.#receipts.set(transaction, logs.length === 0 ? gasUsed : 0n)
  }

  /** Notes that a payer's transfer was mined and moved no money. */
  noteFailed(payer: Address, transaction: Hex): void {
    const whole = this.#receipts.get(transaction) ?? 0n
    // The gas of a whole transaction is lost once, however many members failed.
    this.#receipts.set(transaction, 0n)
    const gas = whole > SHARE_OF_BATCH_GAS ? whole : SHARE_OF_BATCH_GAS
    const codeHash = this.#codes.get(payer)
    this.#losses.push({ gas, at: performance.now(), isOfCode: codeHash !== undefined })
    this.#reportLoss()
    this.#backOff(payer, codeHash !== undefined)
    // A payer that had spent its money meanwhile has failed, not its code.
    if (codeHash === undefined || gas < COSTLY_FAILURE_GAS) return
    const ofCode = this.#failedOfCode.get(codeHash) ?? new Map<Address, number>()
    if (ofCode.size >= REMEMBERED_PAYERS_OF_CODE) ofCode.delete([...ofCode.keys()][0] as Address)
    ofCode.set(payer, performance.now())
    this.#failedOfCode.set(codeHash, ofCode)
  }

  /** Notes that a payer's transfer paid the merchant. */
  notePaid(payer: Address): void {
    this.#failures.delete(payer)
    const codeHash = this.#codes.get(payer)
    if (codeHash !== undefined) this.#paidOfCode.set(codeHash, this.#paymentsOf(codeHash) + 1)
  }

  /** Has a payer wait after a failure. */
  #backOff(payer: Address, hasCode: boolean): void {
    const count = (this.#failures.get(payer)?.count ?? 0) + 1
    const counted = hasCode ? count : count - FREE_FAILURES
    const { first, factor, longest } = BACK_OFF_MS
    const waitMs = counted > 0 ? Math.min(first * factor ** (counted - 1), longest) : 0
    this.#failures.set(payer, { count, until: performance.now() + waitMs })
  }

  /** Gas pending of one code, and of all unknown codes, if so much more joined; forgets what lapsed. */
  #pendingWith(codeHash: Hex, gas: bigint, now: number): readonly [bigint, bigint] {
    let [ofCode, ofUnknown] = [gas, gas]
    for (const [id, one] of this.#pending) {
      if (one.lapsesAt < now) {
        this.#pending.delete(id)
        continue
      }
      if (one.codeHash === codeHash) ofCode += one.gas
      if (!this.#isKnownCode(one.codeHash)) ofUnknown += one.gas
    }
    return [ofCode, ofUnknown]
  }

  /** Gas that was lost within the window: by all payers, and by those with code. */
  #lost(): { readonly all: bigint; readonly ofCode: bigint } {
    const since = performance.now() - BUDGET_WINDOW_MS
    this.#losses = this.#losses.filter(({ at }) => at >= since)
    const ofCode = this.#losses.filter(({ isOfCode }) => isOfCode)
    return { all: sumOfGas(this.#losses), ofCode: sumOfGas(ofCode) }
  }

  /** Reports once that the budget is used up, and again only after half of it was free. */
  #reportLoss(more = 0n): void {
    const gas = this.#lost().all
    const isBeyond = gas + more > BUDGET_GAS
    if (isBeyond && !this.#isReported) this.#onLoss?.({ gas })
    this.#isReported = isBeyond || (this.#isReported && gas > BUDGET_GAS / 2n)
  }

  #paymentsOf(codeHash: Hex): number {
    return this.#paidOfCode.get(codeHash) ?? 0
  }

  #isKnownCode(codeHash: Hex): boolean {
    return this.#paymentsOf(codeHash) >= PAYMENTS_OF_KNOWN_CODE
  }

  /** Whether payers of a code may cost so much more. Losses by others do not count against them. */
  #mayLose(codeHash: Hex, gas = 0n): boolean {
    const isWithin = this.#isKnownCode(codeHash) || this.#lost().ofCode + gas <= BUDGET_GAS
    if (!isWithin) this.#reportLoss(gas)
    return isWithin
  }

  #isCodeRefused(codeHash: Hex): boolean {
    const failed = this.#failedOfCode.get(codeHash)
    if (failed === undefined) return false
    const since = performance.now() - BUDGET_WINDOW_MS
    const recent = [...failed.values()].filter((at) => at >= since).length
    return recent >= MOST_PAYERS_OF_CODE && recent > this.#paymentsOf(codeHash)
  }
}

function sumOfGas(losses: readonly Loss[]): bigint {
  return losses.reduce((total, { gas }) => total + gas, 0n)
}
