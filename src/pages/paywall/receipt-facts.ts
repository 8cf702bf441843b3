import { decimalOf } from '../browser/decimal.js'
import { plainHexOf } from '../../shared/protocol/random-hex.js'
import { data } from './data.js'

/** Facts of a receipt, noted at signing: the offer may change later. */
export interface ReceiptFacts {
  /** Id of the payment, by which its seller finds it. Absent without a secure context. */
  readonly number?: string | undefined
  readonly title: string
  readonly seller: string
  /** In its currency. */
  readonly price?: string | undefined
  /** With the token. A maximum, until it is known what was charged. */
  readonly amount: string
  /** The token of a maximum. */
  readonly token?: Token | undefined
  readonly network: string
  readonly testnet: boolean
  readonly payTo: string
  readonly payer: string
  /** Root URL of a block explorer. */
  readonly explorer?: string | undefined
  /** Hash of the transaction, once it is known. */
  readonly transaction?: string | undefined
}

/** How amounts of a token are written. */
interface Token {
  readonly symbol: string
  readonly decimals: number
}

/** Writes an amount of a token: `0.01 USDC`. */
export function formatToken(units: string, { symbol, decimals }: Token): string {
  const format = new Intl.NumberFormat(data.locale, {
    minimumFractionDigits: 2,
    maximumFractionDigits: 18,
  })
  return `${format.format(decimalOf(units, decimals) as Intl.StringNumericLiteral)} ${symbol}`
}

/** What is known once a payment is settled. */
export interface Settled {
  /** Hash of the transaction; absent where none was needed. */
  readonly transaction: string | undefined
  /** What was charged, in units of the token. */
  readonly charged?: string | undefined
}

/** Adds what is known now. */
export function settledFacts(facts: ReceiptFacts, { transaction, charged }: Settled): ReceiptFacts {
  const { token } = facts
  const isKnown = token !== undefined && /^\d+$/.test(charged ?? '')
  return {
    ...facts,
    ...(transaction !== undefined && { transaction }),
    ...(isKnown && { amount: formatToken(charged ?? '', token) }),
  }
}

export interface PaymentKey {
  readonly chainId: number
  /** Address of the contract that burns the nonce. */
  readonly contract: string
  readonly from: string
  readonly nonce: string
}

/** Computes the id of a payment, as the gateway does. */
export async function paymentNumber(key: PaymentKey): Promise<string | undefined> {
  // Absent without a secure context.
  const { subtle } = crypto as Partial<Crypto>
  if (subtle === undefined) return undefined
  const { chainId, contract, from, nonce } = key
  const text = `${chainId}:${contract}:${from}:${nonce}`.toLowerCase()
  const hash = new Uint8Array(await subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return plainHexOf(hash.slice(0, 16))
}

/** URL of the transaction at its block explorer. */
export function transactionUrl({ explorer, transaction }: ReceiptFacts): string | undefined {
  if (explorer === undefined || !/^0x[0-9a-f]{64}$/i.test(transaction ?? '')) return undefined
  return `${explorer}/tx/${transaction}`
}
