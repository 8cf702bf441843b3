import { bytesOf } from '../../shared/protocol/hex.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { UNPAID, type PaymentKey, type Submission } from '../record.js'
import type { RelayerAccount, SignedBatch } from '../relayer-transactions.js'
import type { Row } from '../schema/tables.js'
import { rowsInOrder, type SqlDatabase, type SqlStore } from '../engine/store.js'
import type { Submissions } from '../payments/submissions.js'
import { SUBMIT_NEXT } from './statements.js'
import { columnsOf, keyOf } from './transaction-bytes.js'
import { world } from '../../shared/world.js'

/** Rolls a transaction back, and says why. */
class Undone extends Error {
  readonly lost: readonly PaymentKey[]

  constructor(lost: readonly PaymentKey[], options?: ErrorOptions) {
    super('Nothing was written down.', options)
    this.lost = lost
  }
}

/** How long to guess no nonce after a wrong guess (ms). */
const GUESS_PAUSE_MS = 1000

/** The account nonce that is likely the next one. */
interface Guess {
  readonly nonce: number
  /** By `world.elapsed()`. */
  readonly notBefore: number
}

/**
 * Hands out account nonces to all processes that use the same database.
 *
 * A transaction is signed with the nonce that is likely the next one, and one statement takes that nonce
 * and writes everything down. If no nonce is likely, or another process has taken it, the row of the
 * account is locked while a transaction is signed with its next nonce and written down.
 */
export class Transactions {
  readonly #store: SqlStore
  readonly #submissions: Submissions
  /** By account. */
  readonly #guesses = new Map<string, Guess>()

  constructor(store: SqlStore, submissions: Submissions) {
    this.#store = store
    this.#submissions = submissions
  }

  /**
   * Takes the next account nonce, and writes down the transaction that `sign` makes with it, for all
   * of its payments or for none. Nothing is written down if `sign` throws.
   *
   * @param leastNonce - The chain's next nonce; a higher one is taken if it was handed out before.
   * @param sign - Called again with another nonce when the first write failed.
   * @returns The keys that the caller has not locked. If there are any, nothing was written down.
   */
  async submitNext(
    account: RelayerAccount,
    leastNonce: number,
    sign: (accountNonce: number) => Promise<SignedBatch>,
  ): Promise<readonly PaymentKey[]> {
    const transaction: NextTransaction = {
      leastNonce,
      sign: (accountNonce) =>
        sign(accountNonce).catch((error: unknown) => {
          throw new Undone([], { cause: error })
        }),
    }
    const undone = await this.#store.run(async (database) => {
      try {
        if (!(await this.#submitGuess(database, account, transaction)))
          await this.#submitNext(database, account, transaction)
        return undefined
      } catch (error) {
        if (error instanceof Undone) return error
        throw error
      }
    })
    if (undone?.cause instanceof Error) throw undone.cause
    return undone?.lost ?? []
  }

  /** @returns Whether the transaction was written down, with the nonce that was likely the next one. */
  async #submitGuess(
    { run }: SqlDatabase,
    account: RelayerAccount,
    { leastNonce, sign }: NextTransaction,
  ): Promise<boolean> {
    const id = nameOf(account)
    const guess = this.#guesses.get(id)
    if (guess === undefined || guess.nonce < leastNonce || guess.notBefore > world.elapsed())
      return false
    this.#guesses.delete(id)
    const { submission, members } = await sign(guess.nonce)
    const parameters = [
      ...this.#submissions.parametersOf(members, submission),
      ...[account.chainId, bytesOf(submission.raw), submission.replaces?.join(',') ?? null],
    ]
    const rows = await run(SUBMIT_NEXT, parameters)
    const notBefore = rows.length > 0 ? 0 : world.elapsed() + GUESS_PAUSE_MS
    this.#guesses.set(id, { nonce: guess.nonce + 1, notBefore })
    return rows.length > 0
  }

  async #submitNext(
    database: SqlDatabase,
    account: RelayerAccount,
    { leastNonce, sign }: NextTransaction,
  ): Promise<void> {
    const nonce = await database.db.transaction().execute(async (db) => {
      const accountNonce = await takeNonce({ ...database, db }, account, leastNonce)
      const { submission, members } = await sign(accountNonce)
      const columns = columnsOf(database, submission)
      await db
        .insertInto('x402_relayer_transactions')
        .values({ ...keyOf(account, accountNonce), ...columns })
        .onConflict((conflict) =>
          conflict.columns(['chain_id', 'relayer', 'account_nonce']).doUpdateSet(columns),
        )
        .execute()
      const lost = await this.#submissions.submitIn({ ...database, db }, members)
      if (lost.length > 0) throw new Undone(lost)
      return accountNonce
    })
    const id = nameOf(account)
    const { notBefore = 0 } = this.#guesses.get(id) ?? {}
    this.#guesses.set(id, { nonce: nonce + 1, notBefore })
  }

  /**
   * Writes down a transaction in place of another with its account nonce, also in the records of the
   * payments that are submitted in it.
   *
   * @returns `false` if the other one was replaced before. Nothing is changed then.
   */
  replaceTransaction(chainId: number, earlier: Hex, next: Submission): Promise<boolean> {
    return this.#store.transact(async (database) => {
      const { db, sql, now } = database
      if (!(await writeDown(database, next, { chainId, earlier }))) return false
      await db
        .updateTable('x402_authorizations')
        .set({
          transaction_hash: bytesOf(next.transaction),
          replaces: sql<string>`CAST(${earlier} AS TEXT) || coalesce(',' || replaces, '')`,
          updated_at: now,
        })
        .where(
          rowsInOrder(database, (where) =>
            where.and({ transaction_hash: bytesOf(earlier), state: 'submitted' }),
          ),
        )
        .execute()
      return true
    })
  }

  /**
   * Writes down a transaction that makes no payment. Records go on naming the earlier one. A refund that
   * was settled in it has failed: a reorganisation has dropped it, and its bytes are gone.
   *
   * @param earlier - The transaction with its account nonce so far, if there is one.
   * @returns As for {@link Transactions.replaceTransaction}.
   */
  fillNonce(chainId: number, empty: Submission, earlier?: Hex): Promise<boolean> {
    return this.#store.transact(async (database) => {
      const { db, now: updated_at } = database
      if (!(await writeDown(database, empty, { chainId, earlier }))) return false
      if (earlier === undefined) return true
      await db
        .updateTable('x402_authorizations')
        .set({ state: 'failed', reason: UNPAID, lock_owner: null, locked_until: 0, updated_at })
        .where(
          rowsInOrder(database, (where) =>
            where.and([
              where('transaction_hash', 'in', [earlier, ...(empty.replaces ?? [])].map(bytesOf)),
              where('state', '=', 'settled'),
              where('refund_of', 'is not', null),
            ]),
          ),
        )
        .execute()
      return true
    })
  }
}

interface NextTransaction {
  readonly leastNonce: number
  readonly sign: (accountNonce: number) => Promise<SignedBatch>
}

/** Takes the next account nonce. Its row stays locked until the transaction of the database ends. */
async function takeNonce(
  { db, sql }: SqlDatabase,
  { chainId, relayer }: RelayerAccount,
  leastNonce: number,
): Promise<number> {
  const { rows } = await sql<Pick<Row<'x402_relayer_nonces'>, 'next_nonce'>>`
    INSERT INTO x402_relayer_nonces AS n (chain_id, relayer, next_nonce, mined_nonce, claimed_at)
    VALUES (${chainId}, ${bytesOf(relayer)}, ${leastNonce + 1}, ${leastNonce}, 0)
    ON CONFLICT (chain_id, relayer) DO UPDATE SET next_nonce =
      CASE WHEN n.next_nonce < ${leastNonce} THEN ${leastNonce + 1} ELSE n.next_nonce + 1 END
    RETURNING next_nonce`.execute(db)
  return Number(rows[0]!.next_nonce) - 1
}

/** Writes down a transaction in place of another, or where its nonce has none. */
async function writeDown(
  database: SqlDatabase,
  next: Submission,
  { chainId, earlier }: { readonly chainId: number; readonly earlier: Hex | undefined },
): Promise<boolean> {
  const { db } = database
  const key = keyOf({ chainId, relayer: next.relayer }, next.accountNonce)
  const columns = columnsOf(database, next)
  if (earlier === undefined) {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('x402_relayer_transactions')
      .values({ ...key, ...columns })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  }
  const { numUpdatedRows } = await db
    .updateTable('x402_relayer_transactions')
    .set(columns)
    .where((where) => where.and({ ...key, transaction_hash: bytesOf(earlier) }))
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

function nameOf({ chainId, relayer }: RelayerAccount): string {
  return `${chainId}:${relayer.toLowerCase()}`
}
