/** Facts of a receipt, noted at signing: the offer may change later. */
export interface ReceiptFacts {
  /** Id of the payment, by which its seller finds it. Absent without a secure context. */
  readonly number?: string | undefined
  readonly title: string
  readonly seller: string
  /** In its currency. */
  readonly price?: string | undefined
  /** With the token. */
  readonly amount: string
  readonly network: string
  readonly testnet: boolean
  readonly payTo: string
  readonly payer: string
  /** Root URL of a block explorer. */
  readonly explorer?: string | undefined
  /** Hash of the transaction, once it is known. */
  readonly transaction?: string | undefined
}

/** The key of a payment. */
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
  return Array.from(hash.slice(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** URL of the transaction at its block explorer. */
export function transactionUrl({ explorer, transaction }: ReceiptFacts): string | undefined {
  if (explorer === undefined || !/^0x[0-9a-f]{64}$/i.test(transaction ?? '')) return undefined
  return `${explorer}/tx/${transaction}`
}
