/** A gateway's ledger after years: many merchants, buyers, references and refunds. */
import { resourceHash } from '../../src/ledger/payment-details.js'
import type { SqlDialect } from '../../src/ledger/engine/dialect.js'
import { digitsReader } from './fill-ledger.js'

const DAY_MS = 86_400_000

/** Time in which all was paid. */
export const FILLED_MS = 90 * DAY_MS

/** What a twentieth of the payments is for. */
export const FILLED_RESOURCE = 'https://shop.example/report'

/** One buyer makes a twentieth of the payments. */
export const FREQUENT_PAYER = `0x${'9'.repeat(40)}`

/** Chains, of which the first has nearly all payments, and the last one payment in 10,000. */
export const FILLED_CHAINS = [84532, 8453, 10] as const

/** A prime, and a number whose multiples have scattered remainders by it. */
const PRIME = 899_999_963
const MULTIPLIER = 618_033_989

/** Rows that one statement writes. */
const AT_ONCE = 250_000

export interface MerchantsFilling {
  readonly payments: number
  readonly merchants: number
  /** When the last payment was made, in milliseconds since the epoch. */
  readonly until: number
}

/**
 * SQL that fills an empty ledger. Merchants are of very different size; one payment in a hundred has failed, the last 200
 * are under way, and one in fifty is refunded. Seven of ten have the reference `Order-<number>`.
 */
export function* merchantsFilling(dialect: SqlDialect, filling: MerchantsFilling) {
  const { payments, merchants, until } = filling
  const refunds = Math.floor(payments / 50)
  const settings = JSON.stringify({ payTo: `0x${'0c'.repeat(20)}` })
  yield `${numbers(1, merchants)} INSERT INTO x402_projects (id, settings, version, position, created_at, updated_at)
    SELECT 'merchant-' || i, '${settings}', 1, i, ${until - FILLED_MS}, ${until - FILLED_MS} FROM n`
  yield `UPDATE x402_versions SET version = ${merchants + 1}`
  for (let start = 1; start <= payments + refunds; start += AT_ONCE)
    yield recordsFilling(dialect, filling, [
      start,
      Math.min(start + AT_ONCE - 1, payments + refunds),
    ])
  const today = Math.floor(until / DAY_MS)
  for (const kind of ['asked', 'presented', 'settled'])
    yield `${numbers(0, merchants)}, d(day) AS (SELECT ${today - 89} UNION ALL SELECT day + 1 FROM d WHERE day < ${today})
      INSERT INTO x402_counts (day, slot, project, kind, label, count)
      SELECT day, i % 96, CASE i WHEN 0 THEN '' ELSE 'merchant-' || i END, '${kind}', '', 10 FROM n CROSS JOIN d`
}

const numbers = (first: number, last: number): string =>
  `WITH RECURSIVE n(i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${last})`

/** Payments, and behind their numbers those of refunds. */
function recordsFilling(
  dialect: SqlDialect,
  { payments, merchants, until }: MerchantsFilling,
  [first, last]: readonly [number, number],
): string {
  const fromDigits = digitsReader(dialect)
  const isRefund = `i > ${payments}`
  /** The number of the payment, or of the one that is refunded. */
  const payment = `CASE WHEN ${isRefund} THEN (i - ${payments}) * 50 ELSE i END`
  const scattered = (number: string): string =>
    `(CAST(${number} AS BIGINT) * ${MULTIPLIER}) % ${PRIME}`
  const digits = (number: string): string =>
    `CAST(${10 ** 8} + ${scattered(number)} AS TEXT) || '${'0'.repeat(55)}'`
  const bytes = (number: string, length: number): string =>
    fromDigits(`substr(${digits(number)}, 1, ${2 * length})`)
  const payer = `CASE WHEN p % 20 = 0 THEN ${fromDigits(`'${FREQUENT_PAYER.slice(2)}'`)} ELSE ${bytes('p % 19997', 20)} END`
  const time = `${until - FILLED_MS} + CAST(p AS BIGINT) * ${FILLED_MS} / ${payments}`
  const [chain, second, rare] = FILLED_CHAINS
  return `${numbers(first, last)},
    r AS (SELECT i, ${isRefund} AS refunds, ${payment} AS p FROM n),
    m AS (SELECT r.*, ${scattered('p')} AS h FROM r)
    INSERT INTO x402_authorizations (chain_id, asset, payer, nonce, id, pay_to, value, valid_before, decimals,
      project, kind, refund_of, state, delivered, locked_until, transaction_hash, reason,
      resource_url, resource_hash, reference, created_at, updated_at)
    SELECT CASE WHEN p % 10000 = 7 THEN ${rare} WHEN p % 10 = 3 THEN ${second} ELSE ${chain} END, ${fromDigits(`'${'5'.repeat(40)}'`)},
      ${payer}, ${bytes('i', 32)}, ${bytes('i', 16)}, ${fromDigits(`'${'7'.repeat(40)}'`)},
      CAST(10000 + h % 1000000 AS TEXT), CAST((${time}) / 1000 AS TEXT), 6,
      'merchant-' || (1 + CAST(h * h / (${PRIME}.0 * ${PRIME}.0) * ${merchants - 1} AS INTEGER)),
      CASE WHEN refunds THEN 'refund' ELSE 'payment' END,
      CASE WHEN refunds THEN ${bytes('p', 16)} END,
      CASE WHEN refunds THEN 'settled' WHEN i > ${payments - 100} THEN 'reserved' WHEN i > ${payments - 200} THEN 'submitted'
        WHEN i % 100 = 1 THEN 'failed' ELSE 'settled' END,
      CASE WHEN refunds OR i <= ${payments - 200} THEN 1 ELSE 0 END, 0,
      CASE WHEN refunds OR i <= ${payments - 100} THEN ${bytes('i', 32)} END,
      CASE WHEN NOT refunds AND i % 100 = 1 THEN 'invalid_transaction_state' END,
      CASE WHEN p % 20 = 5 THEN '${FILLED_RESOURCE}' ELSE 'https://shop.example/' || p % 1000 END,
      CASE WHEN p % 20 = 5 THEN '${resourceHash(FILLED_RESOURCE)}' ELSE 'hash-of-another-' || (100000 + p % 1000) END,
      CASE WHEN NOT refunds AND p % 10 < 7 THEN 'Order-' || p END, ${time}, ${time} FROM m`
}
