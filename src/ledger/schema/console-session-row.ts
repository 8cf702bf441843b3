import type { ColumnType } from 'kysely'
import type { ConsoleRole } from '../console-sessions.js'

/** A row of one session of the console. */
export interface ConsoleSessionRow {
  /** SHA-256 of its secret, in hexadecimal digits. */
  readonly hash: string
  readonly role: ConsoleRole
  /** SHA-256 of the token that it was opened with. */
  readonly token: string
  /** Null for an operator. */
  readonly project: string | null
  /** Milliseconds since the epoch, by the gateway's clock. `pg` reads it as text. */
  readonly created_at: ColumnType<number | string, number, number>
  readonly used_at: ColumnType<number | string, number, number>
}
