import { randomBytes } from 'node:crypto'
import type { LedgerStore } from './index.js'
import type { AnswerBudget } from './idempotency/answer-budget.js'
import type { LockOwner } from './owners/lock-owner.js'
import { OwnLocks, type LocksOptions } from './payments/own-locks.js'
import { SqlCounts } from './stored-counts.js'
import { SqlIdempotency } from './idempotency/answers.js'
import { SqlLocks } from './payments/locks.js'
import { SqlOutcomes } from './payments/outcomes.js'
import { SqlProjects, type ChangeChannel } from './projects/projects.js'
import { SqlRecords } from './payments/records.js'
import { SqlRefunds } from './payments/refunds.js'
import { SqlRelayerAlerts } from './relayers/alerts.js'
import { SqlRelayers } from './relayers/nonces.js'
import { SqlRevenue } from './payments/revenue.js'
import { SqlSessions } from './sessions.js'
import type { SqlStore } from './engine/store.js'
import { SqlSubmissions } from './payments/submissions.js'
import { SqlTransactions } from './relayers/transactions.js'
import { pruneBytes, type PruneBytesOptions } from './relayers/transaction-bytes.js'
import { SqlWebhookDeliveries } from './webhooks/deliveries.js'
import { SqlWebhookEndpoints } from './webhooks/endpoints.js'

/** Claims of idempotency keys outlive the locks of their payments by this factor. */
const CLAIMS_PER_LOCK = 1.5

/** Options of {@link SqlLedger}. */
export interface SqlLedgerOptions extends LocksOptions {
  /** When the bytes of mined transactions are dropped. */
  readonly bytes?: PruneBytesOptions
  /** How processes tell each other of changed projects, where the database can. */
  readonly changes?: ChangeChannel
  /** Whether it ends with its process. @defaultValue false */
  readonly isInMemory?: boolean
  /** How much room stored answers may take. @defaultValue as much as they need */
  readonly answers?: AnswerBudget
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
  readonly idempotency: SqlIdempotency
  readonly projects: SqlProjects
  readonly sessions: SqlSessions
  readonly webhooks: LedgerStore['webhooks']
  readonly #store: SqlStore
  readonly #owner: LockOwner
  readonly #ownLocks: OwnLocks
  readonly #locks: SqlLocks
  readonly #records: SqlRecords
  readonly #refunds: SqlRefunds
  readonly #submissions: SqlSubmissions
  readonly #outcomes: SqlOutcomes
  readonly #transactions: SqlTransactions
  readonly #relayers: SqlRelayers
  readonly #revenue: SqlRevenue
  readonly #counts: SqlCounts
  readonly #end: readonly (() => void)[]

  readonly find: LedgerStore['find'] = (key) => this.#records.find(key)
  readonly list: LedgerStore['list'] = (query) => this.#records.list(query)
  readonly listSubmitted: LedgerStore['listSubmitted'] = (query) =>
    this.#records.listSubmitted(query)
  readonly listFinal: LedgerStore['listFinal'] = (query) => this.#records.listFinal(query)
  readonly listLatest: LedgerStore['listLatest'] = (query) => this.#records.listLatest(query)

  readonly reserve: LedgerStore['reserve'] = (entry) => this.#locks.reserve(entry)
  readonly release: LedgerStore['release'] = (key) => this.#locks.release(key)
  readonly unlock: LedgerStore['unlock'] = (key) => this.#locks.unlock(key)
  readonly relock: LedgerStore['relock'] = (...args) => this.#locks.relock(...args)
  readonly undeliver: LedgerStore['undeliver'] = (key) => this.#locks.undeliver(key)
  readonly markDelivered: LedgerStore['markDelivered'] = (...args) =>
    this.#locks.markDelivered(...args)
  readonly deliveryName: LedgerStore['deliveryName'] = (key) => this.#locks.deliveryName(key)

  readonly reserveRefund: LedgerStore['reserveRefund'] = (entry) =>
    this.#refunds.reserveRefund(entry)
  readonly refundsOf: LedgerStore['refundsOf'] = (payments) => this.#refunds.refundsOf(payments)

  readonly submit: LedgerStore['submit'] = (...args) => this.#submissions.submit(...args)
  readonly withdraw: LedgerStore['withdraw'] = (...args) => this.#submissions.withdraw(...args)
  readonly adopt: LedgerStore['adopt'] = (...args) => this.#submissions.adopt(...args)
  readonly knowsTransaction: LedgerStore['knowsTransaction'] = (transaction) =>
    this.#submissions.knowsTransaction(transaction)

  readonly markSettled: LedgerStore['markSettled'] = (...args) =>
    this.#outcomes.markSettled(...args)
  readonly markFailed: LedgerStore['markFailed'] = (...args) => this.#outcomes.markFailed(...args)
  readonly markSettledLate: LedgerStore['markSettledLate'] = (...args) =>
    this.#outcomes.markSettledLate(...args)

  readonly sumRevenue: LedgerStore['sumRevenue'] = (query) => this.#revenue.sumRevenue(query)
  readonly addCounts: LedgerStore['addCounts'] = (counts) => this.#counts.addCounts(counts)
  readonly listCounts: LedgerStore['listCounts'] = (query) => this.#counts.listCounts(query)
  readonly dropCounts: LedgerStore['dropCounts'] = (day) => this.#counts.dropCounts(day)

  readonly onFreed: LedgerStore['onFreed'] = (listener) => this.#owner.onFreed(listener)

  readonly submitNext: LedgerStore['submitNext'] = (...args) =>
    this.#transactions.submitNext(...args)
  readonly replaceTransaction: LedgerStore['replaceTransaction'] = (...args) =>
    this.#transactions.replaceTransaction(...args)
  readonly fillNonce: LedgerStore['fillNonce'] = (...args) => this.#transactions.fillNonce(...args)
  readonly claimPending: LedgerStore['claimPending'] = (chainId) =>
    this.#relayers.claimPending(chainId)
  readonly listTransactions: LedgerStore['listTransactions'] = (...args) =>
    this.#relayers.listTransactions(...args)
  readonly noteMinedNonce: LedgerStore['noteMinedNonce'] = (...args) =>
    this.#relayers.noteMinedNonce(...args)
  readonly lowerNonce: LedgerStore['lowerNonce'] = (...args) => this.#relayers.lowerNonce(...args)

  /** @param owner - Started by the store when it opens. */
  constructor(store: SqlStore, owner: LockOwner, options: SqlLedgerOptions = {}) {
    const ownLocks = new OwnLocks(store, owner, options)
    this.#store = store
    this.#owner = owner
    this.#ownLocks = ownLocks
    this.#records = new SqlRecords(store, ownLocks)
    this.#locks = new SqlLocks(store, ownLocks, this.#records)
    this.#refunds = new SqlRefunds(store, ownLocks, this.#records)
    this.#submissions = new SqlSubmissions(store, ownLocks)
    this.#outcomes = new SqlOutcomes(store, ownLocks)
    this.#transactions = new SqlTransactions(store, this.#submissions)
    this.#relayers = new SqlRelayers(store)
    this.#revenue = new SqlRevenue(store)
    this.#counts = new SqlCounts(store)
    this.isInMemory = options.isInMemory === true
    this.#end = [pruneBytes(store, options.bytes), ...(options.endWith ? [options.endWith] : [])]
    this.projects = new SqlProjects(store, options.changes)
    this.sessions = new SqlSessions(store)
    this.webhooks = {
      endpoints: new SqlWebhookEndpoints(store),
      relayerAlerts: new SqlRelayerAlerts(store),
      deliveries: new SqlWebhookDeliveries(store, this.#records, () => owner.newName()),
    }
    this.idempotency = new SqlIdempotency(store, {
      leaseMs: ownLocks.lockMs * CLAIMS_PER_LOCK,
      newName: () => owner.newName(),
      budget: options.answers,
    })
  }

  sharedSecret(name: string): Promise<string> {
    return this.#store.run(async ({ db }) => {
      const secret = randomBytes(32).toString('base64url')
      await db
        .insertInto('x402_secrets')
        .values({ name, secret })
        .onConflict((conflict) => conflict.column('name').doNothing())
        .execute()
      // The secret of the process that was first.
      const row = await db
        .selectFrom('x402_secrets')
        .select('secret')
        .where('name', '=', name)
        .executeTakeFirstOrThrow()
      return row.secret
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
