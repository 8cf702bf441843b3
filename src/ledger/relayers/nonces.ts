import type { Selectable } from 'kysely'
import { bytesOf, hexOf } from '../../protocol/hex.js'
import type { Address, Hex } from '../../protocol/payment.js'
import { idOf } from '../engine/bytes.js'
import type { Submission } from '../record.js'
import {
  LISTED_TRANSACTIONS,
  LOOK_AFTER_MS,
  NONCE_LOWERED_AFTER_MS,
  type PendingRelayer,
  type RelayerAccount,
  type RelayerTransaction,
} from '../relayer-transactions.js'
import type { TransactionRow } from '../schema/schema.js'
import type { SqlStore } from '../engine/store.js'

/** Tells which transactions of relayers must be looked after, and forgets those that are mined. */
export class Nonces {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  /** Lists accounts of a chain that have transactions which are not known to be mined. */
  claimPending(chainId: number): Promise<readonly PendingRelayer[]> {
    return this.#store.run(async ({ db, now, plus }) => {
      const pending = await db
        .selectFrom('x402_relayer_nonces as pending')
        .select(['relayer', 'next_nonce', 'mined_nonce'])
        .select((select) =>
          select
            .exists(
              select
                .selectFrom('x402_relayer_transactions as sent')
                .select('sent.account_nonce')
                .whereRef('sent.chain_id', '=', 'pending.chain_id')
                .whereRef('sent.relayer', '=', 'pending.relayer')
                .whereRef('sent.account_nonce', '>=', 'pending.mined_nonce')
                .where('sent.written_at', '<=', plus(-LOOK_AFTER_MS.age)),
            )
            .as('is_due'),
        )
        .where('chain_id', '=', chainId)
        .whereRef('next_nonce', '>', 'mined_nonce')
        .execute()
      const due = pending.flatMap((row) => (row.is_due ? [row.relayer] : []))
      const claimed =
        due.length === 0
          ? []
          : await db
              .updateTable('x402_relayer_nonces')
              .set({ claimed_at: now })
              .where('chain_id', '=', chainId)
              .where('relayer', 'in', due)
              .where('claimed_at', '<=', plus(-LOOK_AFTER_MS.pause))
              .returning('relayer')
              .execute()
      return pending.map(({ relayer, next_nonce, mined_nonce }) => ({
        chainId,
        relayer: hexOf(relayer),
        nextNonce: Number(next_nonce),
        minedNonce: Number(mined_nonce),
        isClaimed: claimed.some((one) => hexOf(one.relayer) === hexOf(relayer)),
      }))
    })
  }

  /** Lists transactions from an account nonce on, lowest first, at most {@link LISTED_TRANSACTIONS}. */
  listTransactions(
    { chainId, relayer }: RelayerAccount,
    fromNonce: number,
  ): Promise<readonly RelayerTransaction[]> {
    return this.#store.run(async ({ db, now }) => {
      const rows = await db
        .selectFrom('x402_relayer_transactions as sent')
        .selectAll()
        .select(now.$castTo<number | string>().as('now'))
        .select((select) =>
          select
            .exists(
              select
                .selectFrom('x402_authorizations as named')
                .select('named.id')
                .whereRef('named.transaction_hash', '=', 'sent.transaction_hash')
                .where('named.state', 'in', ['submitted', 'settled']),
            )
            .as('is_needed'),
        )
        .select((select) =>
          select
            .selectFrom('x402_authorizations as refund')
            .select('refund.refund_of')
            .whereRef('refund.transaction_hash', '=', 'sent.transaction_hash')
            .where('refund.refund_of', 'is not', null)
            .limit(1)
            .as('refund_of'),
        )
        .where((where) => where.and({ chain_id: chainId, relayer: bytesOf(relayer) }))
        .where('account_nonce', '>=', fromNonce)
        .orderBy('account_nonce')
        .limit(LISTED_TRANSACTIONS)
        .execute()
      return rows.map((row) => ({
        ...submissionOf(row, relayer),
        isNeeded: Boolean(row.is_needed),
        refundOf: row.refund_of ? idOf(row.refund_of) : undefined,
        ageMs: Number(row.now) - Number(row.written_at),
      }))
    })
  }

  /** Records that all lower account nonces are mined. */
  async noteMinedNonce({ chainId, relayer }: RelayerAccount, minedNonce: number): Promise<void> {
    const key = { chain_id: chainId, relayer: bytesOf(relayer) }
    await this.#store.run(({ db }) =>
      db
        .updateTable('x402_relayer_nonces')
        .set({ mined_nonce: minedNonce })
        .where((where) => where.and(key))
        .execute(),
    )
  }

  /**
   * Lowers the next account nonce to the chain's, which has forgotten the rest. Nothing is changed if
   * a transaction from there on was written down lately, or is not known to be mined.
   */
  async lowerNonce({ chainId, relayer }: RelayerAccount, nonce: number): Promise<void> {
    const key = { chain_id: chainId, relayer: bytesOf(relayer) }
    await this.#store.run(({ db, plus }) =>
      db.transaction().execute(async (trx) => {
        const { numUpdatedRows } = await trx
          .updateTable('x402_relayer_nonces')
          .set((set) => ({
            next_nonce: nonce,
            mined_nonce: set
              .case()
              .when('mined_nonce', '>', nonce)
              .then(nonce)
              .else(set.ref('mined_nonce').$castTo<number>())
              .end(),
          }))
          .where((where) => where.and(key))
          .where('next_nonce', '>', nonce)
          .where(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom('x402_relayer_transactions')
                  .select('account_nonce')
                  .where((where) => where.and(key))
                  .where('account_nonce', '>=', nonce)
                  .where((where) =>
                    where.or([
                      where('written_at', '>', plus(-NONCE_LOWERED_AFTER_MS)),
                      where('account_nonce', '>=', where.ref('mined_nonce')),
                    ]),
                  ),
              ),
            ),
          )
          .executeTakeFirst()
        if (numUpdatedRows === 0n) return
        await trx
          .deleteFrom('x402_relayer_transactions')
          .where((where) => where.and(key))
          .where('account_nonce', '>=', nonce)
          .execute()
      }),
    )
  }
}

function submissionOf(row: Selectable<TransactionRow>, relayer: Address): Submission {
  const replaces = row.replaces?.split(',') as readonly Hex[] | undefined
  return {
    transaction: hexOf(row.transaction_hash),
    relayer,
    accountNonce: Number(row.account_nonce),
    raw: hexOf(row.raw),
    ...(replaces && { replaces }),
  }
}
