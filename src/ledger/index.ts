/**
 * Everything the gateway knows about each authorization.
 *
 * One record per authorization, which moves only forward:
 *
 * ```
 *            reserve            submit (write-ahead)        receipt
 * (nothing) ────────→ reserved ─────────────────────→ submitted ────→ settled
 *                        │  release            withdraw   │ └─ reverted → failed
 *                        ↓                 (never taken)  ↓                 ┊ markSettledLate
 *                    (nothing)                        (nothing)             ↓
 *                                                                        settled
 * ```
 *
 * A record moves back in one case: where a transaction was mined without using the authorization, the same
 * payment may be presented again. Its failed record is locked, and becomes submitted once more.
 *
 * The dotted move is the other exception: while an authorization is valid, anybody who has seen it on
 * chain can still use it, even after our transaction has failed. The merchant is paid then, and the
 * record says so.
 *
 * Apart from its state, a record is locked while a request works on it, and for good once its payment
 * was delivered. A request that has to be answered before the outcome is known unlocks its record; the
 * next request that presents the same payment may lock it again, once.
 */
import type { Answers } from './idempotency/answers.js'
import type { Checkouts } from './checkouts/checkouts.js'
import type { LockOwner } from './owners/lock-owner.js'
import type { Reservations } from './payments/reservations.js'
import type { Outcomes } from './payments/outcomes.js'
import type { Records } from './payments/records.js'
import type { Refunds } from './payments/refunds.js'
import type { Revenue } from './payments/revenue.js'
import type { Submissions } from './payments/submissions.js'
import type { Projects } from './projects/projects.js'
import type { Alerts } from './webhooks/alerts.js'
import type { Nonces } from './relayers/nonces.js'
import type { Transactions } from './relayers/transactions.js'
import type { Resources } from './resources.js'
import type { Secrets } from './secrets.js'
import type { Sessions } from './sessions.js'
import type { SignIns } from './sign-ins.js'
import type { Turns } from './turns.js'
import type { Counts } from './counts.js'
import type { WebhookDeliveries } from './webhooks/deliveries.js'
import type { WebhookEndpoints } from './webhooks/endpoints.js'

export * from './record.js'
export * from './relayer-transactions.js'

/**
 * Keeps the record of every payment, and answers for requests that are repeated.
 *
 * Created by `memoryLedger`, `sqliteLedger` or `postgresLedger` and given to a gateway, which closes
 * it. Its methods belong to the gateway; only `close` is public.
 *
 * @example
 * ```ts
 * import { memoryLedger, type Ledger } from 'express-x402-gateway'
 * import { sqliteLedger } from 'express-x402-gateway/sql'
 *
 * const file = process.env['LEDGER_FILE']
 * const ledger: Ledger = file === undefined ? memoryLedger() : sqliteLedger(file)
 * await ledger.close()
 * ```
 */
export interface Ledger {
  /**
   * Ends the ledger's timers and connections. A gateway calls this when it is closed.
   *
   * @returns Once all connections are closed. Never rejects.
   */
  close(): Promise<void>
}

/** The public members of a class, which another object may have as well. @internal */
type Public<T> = Pick<T, keyof T>

/** Records, who may work on them, and what became of them. @internal */
export type PaymentStore = Public<Records> &
  Public<Reservations> &
  Public<Submissions> &
  Public<Outcomes> &
  Public<Revenue> &
  Pick<LockOwner, 'onFreed'>

/** The account nonces of relayers, and their transactions. @internal */
export type RelayerStore = Public<Transactions> & Public<Nonces>

/** Projects that were made at run time. @internal */
export type ProjectStore = Public<Projects>

/** Who is signed in to the console. @internal */
export type SessionStore = Public<Sessions>

/** Counts of what happened. @internal */
export type CountStore = Public<Counts>

/** The endpoints of webhooks, the deliveries to them, and the alerts about relayers. @internal */
export interface WebhookStore {
  readonly endpoints: Public<WebhookEndpoints>
  readonly deliveries: Public<WebhookDeliveries>
  readonly alerts: Public<Alerts>
}

/**
 * The ledger's methods for the gateway.
 *
 * Every method is atomic, across processes where the store is shared, and throws `LedgerError` if it
 * failed. The caller must then allow nothing.
 *
 * @internal
 */
export interface LedgerStore extends Ledger {
  /** Whether it ends with its process, and no other process can share it. */
  readonly isInMemory: boolean
  readonly payments: PaymentStore
  readonly relayers: RelayerStore
  readonly refunds: Public<Refunds>
  /** Payment links. */
  readonly checkouts: Public<Checkouts>
  /** Answers that may be asked for again, kept beside the payments they are about. */
  readonly idempotency: Public<Answers>
  readonly projects: ProjectStore
  readonly sessions: SessionStore
  readonly webhooks: WebhookStore
  readonly counts: CountStore
  /** What was sold, for catalogues. */
  readonly resources: Public<Resources>
  readonly secrets: Public<Secrets>
  /** Sign-ins of buyers, and the access that they have paid for. */
  readonly signIns: Public<SignIns>
  /** Payments of routes, of which facilitators settle a share. */
  readonly turns: Public<Turns>
}

/** The parts of a store. The compiler makes sure that none is missing. */
const PARTS: Readonly<Record<Exclude<keyof LedgerStore, 'close' | 'isInMemory'>, true>> = {
  payments: true,
  relayers: true,
  refunds: true,
  checkouts: true,
  idempotency: true,
  projects: true,
  sessions: true,
  webhooks: true,
  counts: true,
  resources: true,
  secrets: true,
  signIns: true,
  turns: true,
}

/** Type guard for {@link LedgerStore}: a ledger that this package made, or a copy of the package. @internal */
export function isLedgerStore(value: unknown): value is LedgerStore {
  if (typeof value !== 'object' || value === null) return false
  const store = value as Partial<Record<string, unknown>>
  return (
    typeof store['close'] === 'function' &&
    typeof store['isInMemory'] === 'boolean' &&
    Object.keys(PARTS).every((name) => typeof store[name] === 'object' && store[name] !== null)
  )
}
