/** The server's data for the page's script, as JSON. */

/** A way to pay, for people. Its terms are the entry of `document.accepts` with the same index. */
export interface PageOffer {
  /** With its token: `0.01 USDC`. */
  readonly amount: string
  readonly symbol: string
  readonly decimals: number
  readonly network: string
  readonly chainId: number
  /** Facts for wallets that add the network (EIP-3085), with public endpoints only. */
  readonly chain?: object | undefined
  /** Root URL of a block explorer. */
  readonly explorer?: string | undefined
  /** URL of the token's faucet. */
  readonly faucet?: string | undefined
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

/** The document of a 402. */
export interface PageDocument {
  readonly error?: string
  readonly resource: object
  readonly accepts: readonly PageTerms[]
}

export interface PageData {
  readonly document: PageDocument
  /** In the order of `document.accepts`. */
  readonly offers: readonly PageOffer[]
  readonly seller: string
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
}
