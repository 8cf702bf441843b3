import { newDeliveryId, OPERATOR } from '../webhooks.js'
import type { SqlStore } from '../engine/store.js'
import { insertDelivery } from './rows.js'

/** How long after an alert about a relayer the next one is due (ms), unless it was funded in between. */
export const ALERT_PAUSE_MS = 3_600_000

/** A relayer, and its balance in wei. */
export interface RelayerBalance {
  readonly chainId: number
  readonly relayer: string
  readonly balance: bigint
}

/** Digits of a balance: as many as 2^256 has, so that texts are ordered as numbers are. */
const DIGITS = 78

/** Alerts to the operator about low relayers, in the ledger's database. */
export class RelayerAlerts {
  readonly #store: Pick<SqlStore, 'run'>

  constructor(store: Pick<SqlStore, 'run'>) {
    this.#store = store
  }

  /**
   * Adds an event `relayer.low` for each endpoint of the operator that wants it, unless one was added in
   * the last {@link ALERT_PAUSE_MS}.
   *
   * @param data - The data of the event.
   * @returns Whether there was one to add.
   */
  tellLow({ chainId, relayer, balance }: RelayerBalance, data: object): Promise<boolean> {
    const row = { chain_id: chainId, relayer: relayer.toLowerCase(), balance: digitsOf(balance) }
    return this.#store.run(({ db, now, plus }) =>
      db.transaction().execute(async (transaction) => {
        const endpoints = await transaction
          .selectFrom('x402_webhook_endpoints')
          .select('id')
          .where('project', '=', OPERATOR)
          .where('events', 'like', '%,relayer.low,%')
          .execute()
        if (endpoints.length === 0) return false
        // A second process waits here for the first, and finds that the alert was sent.
        const { numInsertedOrUpdatedRows: told } = await transaction
          .insertInto('x402_relayer_alerts')
          .values({ ...row, told_at: now })
          .onConflict((conflict) =>
            conflict
              .columns(['chain_id', 'relayer'])
              .doUpdateSet({ balance: row.balance, told_at: now })
              .where('x402_relayer_alerts.told_at', '<=', plus(-ALERT_PAUSE_MS)),
          )
          .executeTakeFirst()
        if (told !== 1n) return false
        for (const { id: endpoint } of endpoints)
          await insertDelivery(
            { db: transaction, now },
            { id: newDeliveryId(), endpoint, project: OPERATOR, type: 'relayer.low', data },
          )
        return true
      }),
    )
  }

  /** Notes that a relayer has more than at its last alert: when it is low again, an alert is sent at once. */
  async noteFunded({ chainId, relayer, balance }: RelayerBalance): Promise<void> {
    await this.#store.run(({ db }) =>
      db
        .deleteFrom('x402_relayer_alerts')
        .where((where) => where.and({ chain_id: chainId, relayer: relayer.toLowerCase() }))
        .where('balance', '<', digitsOf(balance))
        .execute(),
    )
  }
}

const digitsOf = (balance: bigint): string => balance.toString().padStart(DIGITS, '0')
