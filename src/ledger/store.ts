import type { LedgerStore } from './index.js'
import type { AnswerBudget } from './idempotency/answer-budget.js'
import type { LockOwner } from './owners/lock-owner.js'
import { OwnLocks, type LocksOptions } from './payments/own-locks.js'
import { Checkouts } from './checkouts/checkouts.js'
import { Counts } from './counts.js'
import { Answers } from './idempotency/answers.js'
import { Reservations } from './payments/reservations.js'
import { Outcomes } from './payments/outcomes.js'
import { Projects, type ChangeChannel } from './projects/projects.js'
import { Records } from './payments/records.js'
import { Refunds } from './payments/refunds.js'
import { Alerts } from './webhooks/alerts.js'
import { Nonces } from './relayers/nonces.js'
import { Revenue } from './payments/revenue.js'
import { Resources } from './resources.js'
import { Secrets } from './secrets.js'
import { Sessions } from './sessions.js'
import { SignIns } from './sign-ins.js'
import { Turns } from './turns.js'
import type { SqlStore } from './engine/store.js'
import { Submissions } from './payments/submissions.js'
import { Transactions } from './relayers/transactions.js'
import { forgetUncharged } from './payments/uncharged.js'
import { pruneBytes, type PruneBytesOptions } from './relayers/transaction-bytes.js'
import { WebhookDeliveries } from './webhooks/deliveries.js'
import { WebhookEndpoints } from './webhooks/endpoints.js'

/** Claims of idempotency keys outlive the locks of their payments by this factor. */
const CLAIMS_PER_LOCK = 1.5

export interface SqlLedgerOptions extends LocksOptions {
  /** When the bytes of mined transactions are dropped. */
  readonly bytes?: PruneBytesOptions
  /** How processes tell each other of changed projects, where the database can. */
  readonly changes?: ChangeChannel
  /** Whether it ends with its process. @defaultValue false */
  readonly isInMemory?: boolean
  /** How much room stored answers may take. @defaultValue as much as they need */
  readonly answers?: AnswerBudget
  /** The option or variable that names the database, for errors. @defaultValue `ledger` */
  readonly option?: string
  /** Called when the ledger is closed. */
  readonly endWith?: () => void
}

/**
 * Keeps the ledger in an SQL database, which several processes may share.
 *
 * A lock is a name that is valid for a short while, and renewed for as long as its process lives; what
 * a dead process had lapses at once. Every change of a locked record names the lock in the same
 * statement: a process that was taken for dead finds that it can change nothing any more.
 */
export class SqlLedger implements LedgerStore {
  readonly isInMemory: boolean
  readonly idempotency: Answers
  readonly projects: Projects
  readonly sessions: Sessions
  readonly webhooks: LedgerStore['webhooks']
  readonly payments: LedgerStore['payments']
  readonly relayers: LedgerStore['relayers']
  readonly refunds: Refunds
  readonly checkouts: Checkouts
  readonly counts: Counts
  readonly resources: Resources
  readonly secrets: Secrets
  readonly signIns: SignIns
  readonly turns: Turns
  readonly #store: SqlStore
  readonly #owner: LockOwner
  readonly #ownLocks: OwnLocks
  readonly #end: readonly (() => void)[]

  /** @param owner - Started by the store when it opens. */
  constructor(store: SqlStore, owner: LockOwner, options: SqlLedgerOptions = {}) {
    const ownLocks = new OwnLocks(store, owner, options)
    this.#store = store
    this.#owner = owner
    this.#ownLocks = ownLocks
    const records = new Records(store, ownLocks)
    const submissions = new Submissions(store, ownLocks)
    this.payments = {
      ...together(
        records,
        new Reservations(store, ownLocks, records),
        submissions,
        new Outcomes(store, ownLocks),
        new Revenue(store),
      ),
      onFreed: (listener) => owner.onFreed(listener),
    }
    this.relayers = together(new Transactions(store, submissions), new Nonces(store))
    this.refunds = new Refunds(store, ownLocks, records)
    this.checkouts = new Checkouts(store)
    this.counts = new Counts(store)
    this.resources = new Resources(store)
    this.secrets = new Secrets(store)
    this.signIns = new SignIns(store, () => owner.newName())
    this.turns = new Turns(store)
    this.isInMemory = options.isInMemory === true
    const sweeps = [
      pruneBytes(store, options.bytes),
      forgetUncharged(store, options.bytes?.sweepMs),
    ]
    this.#end = [...sweeps, ...(options.endWith ? [options.endWith] : [])]
    this.projects = new Projects(store, options.changes)
    this.sessions = new Sessions(store)
    this.webhooks = {
      endpoints: new WebhookEndpoints(store),
      alerts: new Alerts(store),
      deliveries: new WebhookDeliveries(store, records, () => owner.newName()),
    }
    this.idempotency = new Answers(store, {
      leaseMs: ownLocks.lockMs * CLAIMS_PER_LOCK,
      newName: () => owner.newName(),
      budget: options.answers,
    })
  }

  async close(): Promise<void> {
    this.idempotency.close()
    for (const end of this.#end) end()
    this.#ownLocks.end()
    await this.#store.close((database) => this.#owner.leave(database))
    await this.#owner.end()
  }
}

type Together<Parts extends readonly object[]> = Parts extends readonly [infer First, ...infer Rest]
  ? Pick<First, keyof First> & (Rest extends readonly object[] ? Together<Rest> : unknown)
  : unknown

/** Makes one object of several instances of classes, whose methods have different names. */
function together<const Parts extends readonly object[]>(...parts: Parts): Together<Parts> {
  const methods: Record<string, unknown> = {}
  for (const part of parts)
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(part))) {
      const member: unknown = Reflect.get(part, name)
      if (name !== 'constructor' && typeof member === 'function') methods[name] = member.bind(part)
    }
  return methods as Together<Parts>
}
