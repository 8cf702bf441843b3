/** What the server writes into the page for its script, as JSON. */

/** One way to pay, in words. Its terms are the entry of `document.accepts` at the same place. */
export interface PageOffer {
  /** With its token: `0.01 USDC`. */
  readonly amount: string
  readonly symbol: string
  readonly decimals: number
  /** Name of the network. */
  readonly network: string
  readonly chainId: number
  /** How a wallet adds the network (EIP-3085). Only public endpoints. */
  readonly chain?: object | undefined
  /** Root URL of a block explorer. */
  readonly explorer?: string | undefined
  /** Where test money of this token is given away. */
  readonly faucet?: string | undefined
  /** Minutes for which the signature is valid. */
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

/** All that the script of the page knows. */
export interface PageData {
  readonly document: PageDocument
  /** In the order of `document.accepts`. */
  readonly offers: readonly PageOffer[]
  readonly seller: string
  /** Whether this page may be loaded again to receive what is for sale: it may not after a form. */
  readonly canRepeat: boolean
  /** The server's clock, in seconds since the epoch. */
  readonly now: number
  readonly locale: string
  readonly texts: Readonly<Record<string, string>>
  /** Keys of `texts`, by reason or problem code. */
  readonly messages: Readonly<Record<string, string>>
  /** Name of the cookie that presents a payment to a navigation. */
  readonly cookie: string
  /** Bytes of a response beyond which the server does not keep it for a second request. */
  readonly maxStoredBytes: number
}
