import { newDeliveryId, OPERATOR, type OperatorEvent } from '../webhooks.js'
import type { SqlStore } from '../engine/store.js'
import { endpointsWanting, insertDelivery } from './rows.js'

/** How long after an alert the next one about the same is due (ms), unless it was over in between. */
export const ALERT_PAUSE_MS = 3_600_000

/** Something that operators are told of. */
export interface Alert {
  readonly type: OperatorEvent
  /** Names it among all of its type, such as a network. */
  readonly about: string
  /** How bad it is: texts are compared. @defaultValue the same for all */
  readonly level?: string
  /** How long it is not told again (ms). @defaultValue {@link ALERT_PAUSE_MS} */
  readonly pauseMs?: number
}

/** Alerts to the operator, in the ledger's database: each is told by one of all processes. */
export class Alerts {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  hasEndpoints(): Promise<boolean> {
    return this.#store.run(async ({ db }) => {
      const query = db.selectFrom('x402_webhook_endpoints').select('id')
      const found = await query.where('project', '=', OPERATOR).limit(1).executeTakeFirst()
      return found !== undefined
    })
  }

  /**
   * Adds an event for each endpoint of the operator that wants it, unless one about the same was added lately.
   *
   * @param data - The data of the event.
   * @returns Whether there was one to add.
   */
  tell(alert: Alert, data: object): Promise<boolean> {
    const { type, level = '', pauseMs = ALERT_PAUSE_MS } = alert
    const name = nameOf(alert)
    return this.#store.transact(async (database) => {
      const { db, now, plus } = database
      const endpoints = await endpointsWanting(database, OPERATOR, type)
      if (endpoints.length === 0) return false
      // A second process waits here for the first, and finds that the alert was sent.
      const { numInsertedOrUpdatedRows: told } = await db
        .insertInto('x402_alerts')
        .values({ name, level, told_at: now })
        .onConflict((conflict) =>
          conflict
            .column('name')
            .doUpdateSet({ level, told_at: now })
            .where('x402_alerts.told_at', '<=', plus(-pauseMs)),
        )
        .executeTakeFirst()
      if (told !== 1n) return false
      const about = { project: OPERATOR, type, data }
      for (const endpoint of endpoints)
        await insertDelivery(database, { id: newDeliveryId(), endpoint, ...about })
      return true
    })
  }

  /** Notes that something is over: the next time it is told at once. With a `level`, unless it was as high. */
  async end({ level, ...alert }: Pick<Alert, 'type' | 'about' | 'level'>): Promise<void> {
    await this.#store.run(({ db }) => {
      const ended = db.deleteFrom('x402_alerts').where('name', '=', nameOf(alert))
      return (level === undefined ? ended : ended.where('level', '<', level)).execute()
    })
  }
}

const nameOf = ({ type, about }: Pick<Alert, 'type' | 'about'>): string => `${type} ${about}`
