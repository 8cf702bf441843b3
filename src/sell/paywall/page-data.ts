/** The server's data for the page's script, as JSON. */

/** A way to pay, for people. */
export interface PageOffer {
  /** Index of its terms in `document.accepts`. */
  readonly entry: number
  /** With its token: `0.01 USDC`, or `up to 0.01 USDC`. */
  readonly amount: string
  /** The rate behind the amount: `1 EUR = 1.08 USD`. */
  readonly rate?: string | undefined
  readonly symbol: string
  readonly decimals: number
  readonly network: string
  /** Whether the token is play money. */
  readonly testnet: boolean
  readonly chainId: number
  /** Facts for wallets that add the network (EIP-3085), with public endpoints only. */
  readonly chain?:
    { readonly chainId: string; readonly nativeCurrency?: { readonly symbol: string } } | undefined
  /** Root URL of a block explorer. */
  readonly explorer?: string | undefined
  /** Where to get the token: a faucet of play money, or the seller's `onRamp`. */
  readonly source?: string | undefined
  /** How long the signature is valid. */
  readonly minutes: number
}

/** An entry of `accepts`. */
export interface PageTerms {
  readonly scheme: string
  readonly network: string
  readonly amount: string
  readonly payTo: string
  readonly asset: string
  readonly maxTimeoutSeconds: number
  readonly extra?: { readonly [member: string]: unknown } | null | undefined
}

export interface PageDocument {
  readonly error?: string
  readonly errorMessage?: string
  readonly resource: object
  readonly accepts: readonly PageTerms[]
  readonly extensions?: object
}

export interface PageData {
  readonly document: PageDocument
  /** The first one is preferred. */
  readonly offers: readonly PageOffer[]
  /** What is sold. */
  readonly title: string
  /** In the currency of the price, if it has one. */
  readonly price?: string | undefined
  readonly seller: string
  /** Whether it is a payment link: once paid, it is an invoice, with nothing to show. */
  readonly isLink: boolean
  /** Whether loading this page again buys the same: not after a form. */
  readonly canRepeat: boolean
  /** The server's clock (Unix seconds). */
  readonly now: number
  readonly locale: string
  readonly texts: Readonly<Record<string, string>>
  /** Keys of `texts`, by reason or problem code. */
  readonly messages: Readonly<Record<string, string>>
  /** Name of the cookie that presents a payment to a navigation. */
  readonly cookie: string
  /** The server stores no larger response for a second request (bytes). */
  readonly maxStoredBytes: number
  /** How long it stores a response (s). */
  readonly storedSeconds: number
}
