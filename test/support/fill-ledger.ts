import type { SqlDialect } from '../../src/ledger/engine/dialect.js'

/** Milliseconds between the creation of two payments that were filled in. */
const STEP_MS = 10

/** Of numbers below this prime, the multiples of another number have different remainders. */
const PRIME = 899_999_963
const MULTIPLIER = 618_033_989
const DIGITS = 9
const LEAST_DIGITS = 10 ** (DIGITS - 1)

/** What to fill a ledger with. */
export interface Filling {
  readonly count: number
  /** Number of the first: two fillings of a ledger must not overlap. @defaultValue 1 */
  readonly start?: number
  readonly project?: string
  /** Milliseconds since the epoch, of the last one. @defaultValue two days ago */
  readonly until?: number
}

/** SQL that makes bytes of hexadecimal digits. */
export const digitsReader =
  ({ isPostgres }: SqlDialect) =>
  (digits: string): string =>
    isPostgres ? `decode(${digits}, 'hex')` : `unhex(${digits})`

/** A statement that inserts delivered payments which have lapsed. */
export function fillStatement(
  dialect: SqlDialect,
  { count, start = 1, project = 'filled', until = Date.now() - 2 * 86_400_000 }: Filling,
): string {
  const fromDigits = digitsReader(dialect)
  const first = until - (start + count) * STEP_MS
  const time = `${first} + n.i * ${STEP_MS}`
  // As long as hashes, all different, and as scattered: an index is slower for those than for ones in order.
  const digits = `CAST(${LEAST_DIGITS} + (CAST(n.i AS BIGINT) * ${MULTIPLIER}) % ${PRIME} AS TEXT)`
  const hash = (bytes: number): string =>
    fromDigits(`${digits} || '${'0'.repeat(2 * bytes - DIGITS)}'`)
  const address = (digit: string): string => fromDigits(`'${digit.repeat(40)}'`)
  return `WITH RECURSIVE n(i) AS (SELECT ${start} UNION ALL SELECT i + 1 FROM n WHERE i < ${start + count - 1})
    INSERT INTO x402_authorizations (chain_id, asset, payer, nonce, id, pay_to, value, valid_before,
      project, state, delivered, locked_until, transaction_hash, created_at, updated_at)
    SELECT 84532, ${address('5')}, ${address('6')}, ${hash(32)}, ${hash(16)}, ${address('7')}, '10000',
      CAST((${time}) / 1000 AS TEXT), '${project}', 'settled', 1, 0, ${hash(32)}, ${time}, ${time} FROM n`
}
