/** Rows of webhooks. */
import type { ColumnType } from 'kysely'

/** A row of one endpoint of webhooks. */
export interface WebhookEndpointRow {
  readonly id: string
  readonly project: string
  readonly url: string
  /** Names of events, each between commas. */
  readonly events: string
  readonly secret: string
  readonly previous_secret: string | null
  /** Milliseconds since the epoch, by the database's clock, as all times. */
  readonly previous_until: ColumnType<number | string | null, number | null, number | null>
  readonly created_at: ColumnType<number | string, number, number>
  readonly updated_at: ColumnType<number | string, number, number>
}

/** A row of one event for one endpoint. */
export interface WebhookDeliveryRow {
  readonly id: string
  readonly endpoint: string
  readonly project: string
  readonly type: string
  /** Id of the payment. Null for events that have `data`, as JSON, instead. */
  readonly payment: string | null
  readonly version: number | null
  /** Members of the record after the change. */
  readonly payment_state: string | null
  readonly transaction_hash: string | null
  readonly reason: string | null
  readonly payment_at: ColumnType<number | string | null, number | null, number | null>
  readonly data: string | null
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  /** When it is attempted next. Of a claimed one: when the claim lapses. */
  readonly next_at: ColumnType<number | string, number, number>
  /** When it was created, or last sent again by hand. */
  readonly retry_from: ColumnType<number | string, number, number>
  /** Name of the claim; it begins with its owner's id. Null while nobody attempts it. */
  readonly claim: string | null
  readonly last_status: number | null
  readonly last_error: string | null
  readonly last_response: string | null
  readonly delivered_at: ColumnType<number | string | null, number | null, number | null>
  readonly created_at: ColumnType<number | string, number, number>
}

/** A row of one relayer that an alert was sent about. */
export interface RelayerAlertRow {
  readonly chain_id: ColumnType<number | string, number, never>
  readonly relayer: string
  /** What it had then: wei, in decimal digits that are as many for every balance. */
  readonly balance: string
  /** Milliseconds since the epoch, by the database's clock. */
  readonly told_at: ColumnType<number | string, number, number>
}
