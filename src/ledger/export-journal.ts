/** An export for accounting: journal entries by day and merchant. The sum of their lines is zero for each asset. */
import type { Asset } from '../shared/money/assets.js'
import { add, divideUp, formatDecimal, parseDecimal, powerOfTen } from '../shared/money/decimal.js'
import type { Decimal } from '../shared/money/decimal.js'
import { findNetwork, gasTokenOf } from '../shared/protocol/networks.js'
import { GWEI, SPENT } from './counters.js'
import type { Count } from './counts.js'
import { csvLine } from '../shared/csv.js'
import { decimalsOf, findAsset, priceOf, type ExportedPayment } from './export-format.js'
import { amountOf } from './record.js'
import { dayName, dayOf, UTC } from './time-zone.js'

const COLUMNS = [
  'date',
  'merchant',
  'account',
  'address',
  'network',
  'testnet',
  'asset',
  'symbol',
  'units',
  'amount',
  'value',
  'currency',
  'rate',
  'count',
]

const WEI_DECIMALS = 18

/** Digits of an average rate after the point. */
const RATE_DIGITS = 8

interface Account {
  readonly account: 'wallet' | 'sales' | 'refunds' | 'gas' | 'relayer'
  readonly address?: string
  /** @defaultValue that of the entry */
  readonly merchant?: string
}

/** A transfer between two accounts. */
interface Entry {
  readonly date: string
  readonly merchant: string
  readonly network: string
  readonly testnet: true | undefined
  readonly asset: string
  readonly symbol: string | undefined
  readonly decimals: number | undefined
  readonly to: Account
  readonly from: Account
  readonly units: bigint
  /** Number of payments or refunds. */
  readonly count?: number
  readonly value?: Decimal
  readonly currency?: string | undefined
}

/** Writes a journal as CSV. It keeps the entries of one day. */
export class JournalWriter {
  readonly head = csvLine(COLUMNS)
  readonly #assets: readonly Asset[]
  readonly #entries = new Map<string, Entry>()
  #day = ''

  /** @param assets - Tokens of the configuration. Those of our own table are known without it. */
  constructor(assets: readonly Asset[]) {
    this.#assets = assets
  }

  /**
   * Adds a payment or refund, the oldest first.
   *
   * @returns The entries of the day before, once that is complete.
   */
  line(payment: ExportedPayment): string {
    if (payment.state !== 'settled') return ''
    const { units, value, ...entry } = entryOf(payment, findAsset(payment, this.#assets))
    const complete = entry.date === this.#day ? '' : this.#flush()
    this.#day = entry.date
    const name = JSON.stringify(entry)
    const sum = this.#entries.get(name)
    this.#entries.set(name, {
      ...entry,
      units: units + (sum?.units ?? 0n),
      value: sum?.value ? add(sum.value, value) : value,
      count: 1 + (sum?.count ?? 0),
    })
    return complete
  }

  /** @returns The last entries, and what relayers paid for gas, and each merchant's share of that. */
  end(gas: readonly Count[]): string {
    return this.#flush() + gas.map(gasEntryOf).flatMap(linesOf).join('')
  }

  #flush(): string {
    const lines = [...this.#entries.values()].flatMap(linesOf)
    this.#entries.clear()
    return lines.join('')
  }
}

function entryOf(payment: ExportedPayment, asset: Asset | undefined) {
  const isRefund = payment.refundOf !== undefined
  const price = priceOf(payment, asset)
  const wallet = { account: 'wallet', address: isRefund ? payment.from : payment.payTo } as const
  return {
    date: dayName(dayOf(UTC, payment.createdAt)),
    merchant: payment.project ?? '',
    ...networkOf(payment.chainId),
    asset: payment.asset,
    symbol: asset?.symbol,
    decimals: decimalsOf(payment, { asset }),
    to: isRefund ? ({ account: 'refunds' } as const) : wallet,
    from: isRefund ? wallet : ({ account: 'sales' } as const),
    currency: price?.currency,
    units: amountOf(payment),
    value: parseDecimal(price?.price ?? '0')!,
  }
}

function gasEntryOf({ day, project, kind, label, count }: Count): Entry {
  const [chain, address] = label.split(':')
  const chainId = Number(chain)
  return {
    date: dayName(day),
    merchant: project,
    ...networkOf(chainId),
    asset: 'native',
    symbol: gasTokenOf(findNetwork(`eip155:${chainId}`) ?? { chainId }),
    decimals: WEI_DECIMALS,
    to: { account: 'gas' },
    from:
      kind === SPENT ? { account: 'relayer', address: address! } : { account: 'gas', merchant: '' },
    units: BigInt(count) * GWEI,
  }
}

function networkOf(chainId: number): Pick<Entry, 'network' | 'testnet'> {
  const network = `eip155:${chainId}` as const
  return { network, testnet: findNetwork(network)?.testnet || undefined }
}

function linesOf({ to, from, units, value, decimals: scale, ...entry }: Entry): readonly string[] {
  const amount = scale === undefined ? undefined : { units, scale }
  const hasPrice = value !== undefined && entry.currency !== undefined
  const fields = {
    units: String(units),
    amount: amount && formatDecimal(amount),
    value: hasPrice ? formatDecimal(value) : undefined,
  }
  const negative = Object.fromEntries(
    Object.entries(fields).map(([name, text]) => [name, text && negated(text)]),
  )
  const rate = hasPrice && amount ? averageRate(value, amount) : undefined
  return [
    { address: undefined, ...entry, ...to, ...fields, rate },
    { address: undefined, ...entry, ...from, ...negative, rate },
  ].map((line: Readonly<Partial<Record<string, string | number | boolean | undefined>>>) =>
    csvLine(COLUMNS.map((column) => line[column])),
  )
}

const negated = (amount: string): string => (/[1-9]/.test(amount) ? `-${amount}` : amount)

/** What one token was worth on average, rounded up. */
function averageRate(value: Decimal, amount: Decimal): string | undefined {
  if (amount.units === 0n) return undefined
  const dividend = value.units * powerOfTen(amount.scale + RATE_DIGITS)
  const units = divideUp(dividend, amount.units * powerOfTen(value.scale))
  return formatDecimal({ units, scale: RATE_DIGITS })
}
