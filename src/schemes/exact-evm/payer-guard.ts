import { LRUCache } from 'lru-cache'
import type { Receipt } from '../../chain/chain.js'
import { recordId, type AuthorizationKey } from '../../ledger/ledger.js'
import type { Address, Hex } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import type { CheckedTransfer } from './verify/check-on-chain.js'

/** Payers, codes and transactions that are remembered. */
const REMEMBERED = 10_000

/** Milliseconds for which a payer is refused after a failure; four times as long after each further one. */
const BACK_OFF_MS = { first: 10_000, factor: 4, longest: 3_600_000 }

/** Failures of payers without code that are let pass: money can be spent twice by mistake. */
const FREE_FAILURES = 1

/** Gas from which a failure is told to be the code's own: a transfer that is refused takes less. */
const COSTLY_FAILURE_GAS = 250_000n

/** Payers of the same code whose transfers must have failed before all of them are refused. */
const MOST_PAYERS_OF_CODE = 3

/** Milliseconds over which gas lost to failed transfers is counted. */
const BUDGET_WINDOW_MS = 3_600_000

/** Gas that may be lost in that time before payers with code are refused. */
const BUDGET_GAS = 5_000_000n

/** Gas that payers of one code may have pending: as much again for each that has paid, up to ten. */
const PENDING_GAS_OF_CODE = { first: 1_000_000n, most: 10_000_000n }

/** Payments of a code after which it counts as known: what it has pending no longer counts as lost. */
const PAYMENTS_OF_KNOWN_CODE = 20

/** Milliseconds beyond its authorization for which a payment counts as pending, and at most. */
const LAPSE_MARGIN_MS = 60_000
const LONGEST_PENDING_MS = 3_600_000

/** Gas that a transfer takes which fails beside others that do not. */
const SHARE_OF_BATCH_GAS = 60_000n

/** Options of {@link createPayerGuard}. */
export interface PayerGuardOptions {
  /** Whether accounts with code may pay. @defaultValue true */
  readonly acceptContractPayers?: boolean | undefined
  /** Called when more gas was lost within an hour than payers with code may cost. */
  readonly onLoss?: ((loss: { readonly gas: bigint }) => void) | undefined
}

/** Keeps payers from having us pay for transactions that fail. */
export interface PayerGuard {
  /** Why a payer is refused now. Takes note of his code. */
  refusalOf(payer: Address, codeHash: Hex | undefined): Reason | undefined
  /**
   * Counts the gas that a payment which is about to be sent could cost us, until it has ended or its
   * authorization has lapsed.
   *
   * @param validBefore - Unix seconds.
   * @returns Whether it may: others of the same code, or of unknown ones, may have too much pending.
   */
  take(key: AuthorizationKey, checked: CheckedTransfer, validBefore: bigint): boolean
  /** The payment is over, however it ended. */
  end(key: AuthorizationKey): void
  /** Takes note of what a mined transaction cost. */
  noteReceipt(receipt: Receipt): void
  /** A payer's transfer was mined and moved no money. */
  noteFailed(payer: Address, transaction: Hex): void
  notePaid(payer: Address): void
}

/** A payment of a payer with code that could cost us. */
interface PendingGas {
  readonly codeHash: Hex
  readonly gas: bigint
  /** Milliseconds since the epoch after which nothing can come of it. */
  readonly lapsesAt: number
}

/** How often a payer has failed, and until when he is refused for it. */
interface Failures {
  readonly count: number
  readonly until: number
}

/** Gas that was lost, and when. */
interface Loss {
  readonly gas: bigint
  /** Its payer had code. */
  readonly isOfCode: boolean
  readonly at: number
}

/**
 * Counts what payers have cost us.
 *
 * No simulation foresees what a payer's code does in the real transaction. So it counts what it did: a
 * payer whose transfer failed waits, longer each time; payers of one code, of which several have
 * failed and fewer have paid, wait too; and beyond a budget nobody with code is taken for a while.
 */
export function createPayerGuard(options: PayerGuardOptions = {}): PayerGuard {
  const { acceptContractPayers = true, onLoss } = options
  const failures = new LRUCache<Address, Failures>({ max: REMEMBERED })
  const codes = new LRUCache<Address, Hex>({ max: REMEMBERED })
  const failedOfCode = new LRUCache<Hex, Map<Address, number>>({ max: REMEMBERED })
  const paidOfCode = new LRUCache<Hex, number>({ max: REMEMBERED, ttl: BUDGET_WINDOW_MS })
  const receipts = new LRUCache<Hex, bigint>({ max: REMEMBERED })
  /** By record. */
  const pending = new Map<string, PendingGas>()
  let losses: Loss[] = []
  let isTold = false

  /** Gas that was lost within the window: by all payers, and by those with code. */
  const lost = (): { readonly all: bigint; readonly ofCode: bigint } => {
    const since = performance.now() - BUDGET_WINDOW_MS
    losses = losses.filter(({ at }) => at >= since)
    const sum = (some: readonly Loss[]): bigint => some.reduce((total, { gas }) => total + gas, 0n)
    return { all: sum(losses), ofCode: sum(losses.filter(({ isOfCode }) => isOfCode)) }
  }

  /** Tells once that the budget is used up, until half of it is free. */
  const tellLoss = (more = 0n): void => {
    const gas = lost().all
    const isBeyond = gas + more > BUDGET_GAS
    if (isBeyond && !isTold) onLoss?.({ gas })
    isTold = isBeyond || (isTold && gas > BUDGET_GAS / 2n)
  }

  const isKnownCode = (codeHash: Hex): boolean =>
    (paidOfCode.get(codeHash) ?? 0) >= PAYMENTS_OF_KNOWN_CODE

  /** Whether payers of a code may cost so much more. Others' losses are not theirs. */
  const mayLose = (codeHash: Hex, gas = 0n): boolean => {
    const isWithin = isKnownCode(codeHash) || lost().ofCode + gas <= BUDGET_GAS
    if (!isWithin) tellLoss(gas)
    return isWithin
  }

  const isCodeRefused = (codeHash: Hex): boolean => {
    const failed = failedOfCode.get(codeHash)
    if (failed === undefined) return false
    const since = performance.now() - BUDGET_WINDOW_MS
    const recent = [...failed.values()].filter((at) => at >= since).length
    return recent >= MOST_PAYERS_OF_CODE && recent > (paidOfCode.get(codeHash) ?? 0)
  }

  return {
    refusalOf(payer, codeHash) {
      if (codeHash === undefined) codes.delete(payer)
      else codes.set(payer, codeHash)
      const now = performance.now()
      if ((failures.get(payer)?.until ?? -Infinity) > now) return 'payer_temporarily_refused'
      if (codeHash === undefined) return undefined
      if (!acceptContractPayers) return 'contract_payer_not_accepted'
      return !mayLose(codeHash) || isCodeRefused(codeHash) ? 'payer_temporarily_refused' : undefined
    },
    take(key, { simulation: { codeHash }, limit }, validBefore) {
      if (codeHash === undefined || limit === undefined || pending.has(recordId(key))) return true
      const now = Date.now()
      const paid = (code: Hex): number => paidOfCode.get(code) ?? 0
      let [ofCode, ofUnknown] = [limit.gas, limit.gas]
      for (const [id, one] of pending) {
        if (one.lapsesAt < now) {
          pending.delete(id)
          continue
        }
        if (one.codeHash === codeHash) ofCode += one.gas
        if (!isKnownCode(one.codeHash)) ofUnknown += one.gas
      }
      const { first, most } = PENDING_GAS_OF_CODE
      const allowed = first * BigInt(1 + paid(codeHash))
      if (ofCode > (allowed < most ? allowed : most)) return false
      if (!mayLose(codeHash, isKnownCode(codeHash) ? limit.gas : ofUnknown)) return false
      const lapsesAt = Math.min(
        Number(validBefore) * 1000 + LAPSE_MARGIN_MS,
        now + LONGEST_PENDING_MS,
      )
      pending.set(recordId(key), { codeHash, gas: limit.gas, lapsesAt })
      return true
    },
    end: (key) => void pending.delete(recordId(key)),
    noteReceipt({ transaction, gasUsed, logs }) {
      if (receipts.has(transaction)) return
      // Where others were paid, the gas was not lost but for the share of what failed.
      receipts.set(transaction, logs.length === 0 ? gasUsed : 0n)
    },
    noteFailed(payer, transaction) {
      const whole = receipts.get(transaction) ?? 0n
      // What a whole transaction took is lost once, however many had a part in it.
      receipts.set(transaction, 0n)
      const gas = whole > SHARE_OF_BATCH_GAS ? whole : SHARE_OF_BATCH_GAS
      const codeHash = codes.get(payer)
      losses.push({ gas, at: performance.now(), isOfCode: codeHash !== undefined })
      tellLoss()

      const count = (failures.get(payer)?.count ?? 0) + 1
      const counted = codeHash === undefined ? count - FREE_FAILURES : count
      const { first, factor, longest } = BACK_OFF_MS
      const waitMs = counted > 0 ? Math.min(first * factor ** (counted - 1), longest) : 0
      failures.set(payer, { count, until: performance.now() + waitMs })
      // Who has spent his money meanwhile has failed, not his code.
      if (codeHash === undefined || gas < COSTLY_FAILURE_GAS) return
      const ofCode = failedOfCode.get(codeHash) ?? new Map<Address, number>()
      // A few more than are counted: the newest.
      if (ofCode.size >= 100) ofCode.delete([...ofCode.keys()][0] as Address)
      ofCode.set(payer, performance.now())
      failedOfCode.set(codeHash, ofCode)
    },
    notePaid(payer) {
      failures.delete(payer)
      const codeHash = codes.get(payer)
      if (codeHash !== undefined) paidOfCode.set(codeHash, (paidOfCode.get(codeHash) ?? 0) + 1)
    },
  }
}
