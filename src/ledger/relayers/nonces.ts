import type { Kysely } from 'kysely'
import { bytesOf, hexOf, lowerHex } from '../../shared/protocol/hex.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { idOf } from '../engine/bytes.js'
import { submissionOf } from '../payments/rows.js'
import {
  LISTED_TRANSACTIONS,
  LOOK_AFTER_MS,
  NONCE_LOWERED_AFTER_MS,
  type PendingRelayer,
  type RelayerAccount,
  type RelayerTransaction,
} from '../relayer-transactions.js'
import type { Submission } from '../record.js'
import type { LedgerDatabase, Row } from '../schema/tables.js'
import type { SqlStore } from '../engine/store.js'

/** Knows which transactions of relayers are not mined yet. */
export class Nonces {
  readonly #store: Pick<SqlStore, 'run'>

  constructor(store: Pick<SqlStore, 'run'>) {
    this.#store = store
  }

  /** Lists accounts of a chain that have transactions which are not known to be mined. */
  claimPending(chainId: number): Promise<readonly PendingRelayer[]> {
    return this.#store.run(async ({ db, sql, now, plus }) => {
      const { rows: pending } = await sql<
        Row<'x402_relayer_nonces'> & { is_due: number | boolean }
      >`
        SELECT n.*, EXISTS (
          SELECT 1 FROM x402_relayer_transactions AS sent
          WHERE sent.chain_id = n.chain_id AND sent.relayer = n.relayer
            AND sent.account_nonce >= n.mined_nonce AND sent.written_at <= ${plus(-LOOK_AFTER_MS.age)}) AS is_due
        FROM x402_relayer_nonces AS n
        WHERE n.chain_id = ${chainId} AND n.next_nonce > n.mined_nonce`.execute(db)
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
    return this.#store.run(async ({ db, sql, now }) => {
      const { rows } = await sql<SentRow>`
        SELECT sent.*, ${now} AS now FROM x402_relayer_transactions AS sent
        WHERE sent.chain_id = ${chainId} AND sent.relayer = ${bytesOf(relayer)}
          AND sent.account_nonce >= ${fromNonce}
        ORDER BY sent.account_nonce LIMIT ${LISTED_TRANSACTIONS}`.execute(db)
      const sent = rows.map((row) => ({ ...submissionOf(row), row }))
      const payments = await namedAmong(db, sent.flatMap(hashesOf))
      return sent.map(({ row, ...submission }) => {
        const hashes = hashesOf(submission)
        const named = payments.filter(({ transaction }) => hashes.includes(transaction))
        const refund = named.find(({ refundOf }) => refundOf !== undefined)
        return {
          ...submission,
          relayer,
          isNeeded: named.length > 0,
          refundOf: refund?.refundOf,
          ageMs: Number(row.now) - Number(row.written_at),
        }
      })
    })
  }

  async noteMinedNonce({ chainId, relayer }: RelayerAccount, minedNonce: number): Promise<void> {
    await this.#store.run(({ db }) =>
      db
        .updateTable('x402_relayer_nonces')
        .set({ mined_nonce: minedNonce })
        .where((where) => where.and({ chain_id: chainId, relayer: bytesOf(relayer) }))
        .execute(),
    )
  }

  /**
   * Lowers the next account nonce to the chain's, which has forgotten the rest. Nothing is changed if
   * a transaction from there on was written down lately, or is not known to be mined.
   */
  async lowerNonce({ chainId, relayer }: RelayerAccount, nonce: number): Promise<void> {
    const account = bytesOf(relayer)
    await this.#store.run(({ db, sql, plus }) =>
      db.transaction().execute(async (trx) => {
        const { numAffectedRows } = await sql`
          UPDATE x402_relayer_nonces SET next_nonce = ${nonce},
            mined_nonce = CASE WHEN mined_nonce > ${nonce} THEN ${nonce} ELSE mined_nonce END
          WHERE chain_id = ${chainId} AND relayer = ${account} AND next_nonce > ${nonce} AND NOT EXISTS (
            SELECT 1 FROM x402_relayer_transactions AS sent
            WHERE sent.chain_id = ${chainId} AND sent.relayer = ${account} AND sent.account_nonce >= ${nonce}
              AND (sent.written_at > ${plus(-NONCE_LOWERED_AFTER_MS)}
                OR sent.account_nonce >= x402_relayer_nonces.mined_nonce))`.execute(trx)
        if (!numAffectedRows) return
        await trx
          .deleteFrom('x402_relayer_transactions')
          .where((where) => where.and({ chain_id: chainId, relayer: account }))
          .where('account_nonce', '>=', nonce)
          .execute()
      }),
    )
  }
}

type SentRow = Row<'x402_relayer_transactions'> & { readonly now: number | string }

/** A settled payment names the transaction that paid it, also where that was replaced later. */
function hashesOf({ transaction, replaces = [] }: Submission): readonly Hex[] {
  return [transaction, ...replaces].map(lowerHex)
}

/** Finds which of some transactions submitted and settled payments name. */
async function namedAmong(db: Kysely<LedgerDatabase>, transactions: readonly Hex[]) {
  if (transactions.length === 0) return []
  const rows = await db
    .selectFrom('x402_authorizations')
    .select(['transaction_hash', 'refund_of'])
    .distinct()
    .where('transaction_hash', 'in', transactions.map(bytesOf))
    .where('state', 'in', ['submitted', 'settled'])
    .$narrowType<{ transaction_hash: Uint8Array }>()
    .execute()
  return rows.map(({ transaction_hash, refund_of }) => {
    return {
      transaction: hexOf(transaction_hash),
      refundOf: refund_of ? idOf(refund_of) : undefined,
    }
  })
}
