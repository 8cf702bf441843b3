import type { RequestListener } from 'node:http'

/** How buyers pay: by the token itself, by Permit2, or by Permit2 up to a maximum. */
export type Pays = 'erc3009' | 'permit2' | 'upto'

/** How figures call it. */
export const SUFFIX: Readonly<Record<Pays, string>> = {
  erc3009: '',
  permit2: ' by Permit2',
  upto: ' by upto',
}

/** What a server of the benchmark is told. */
export interface ServerSetup {
  readonly stack: Stack
  /** URL of the package's entry that our own stack loads: another checkout's build, say. */
  readonly entry?: string
  readonly rpcUrl: string
  readonly relayerKeys: readonly `0x${string}`[]
  readonly payTo: `0x${string}`
  /** @defaultValue 'erc3009' */
  readonly pays?: Pays
  /** A second chain, on which the server sells as well: see `Race`. */
  readonly warmUpChain?: WarmUpChain
  /** A file, or a `postgres://` URL. @defaultValue our own stack's default, in memory */
  readonly ledger?: string
  /** What buyers see, whichever process responds. @defaultValue as the request has it */
  readonly publicUrl?: string
  /** Whether our own stack measures itself. @defaultValue false */
  readonly metrics?: boolean
  /** What the bare server answers, byte by byte what ours does. */
  readonly answer?: BareAnswer
  /** Bytes in use that the bare server's heap is grown to, as if it had more to do. */
  readonly heap?: number
}

/** A chain on which a server is warmed up, beside the one on which it is measured. */
export interface WarmUpChain {
  readonly rpcUrl: string
  readonly asset: `0x${string}`
}

/** The network that it seems to be. */
export const WARM_UP = {
  chainId: 11155420,
  caip2: 'eip155:11155420',
  name: 'optimism-sepolia',
} as const

/** The EIP-712 domain of its token, and of the measured chain's. */
export const TOKEN_DOMAIN = { name: 'USDC', version: '2' } as const

/** Ours; the official packages; Express alone. */
export type Stack = 'ours' | 'official' | 'bare'

/** An answer that is known before it is asked for. */
export interface BareAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** The paths that every server has: one that costs `PRICE`, one that costs nothing. */
export const PAID = '/paid'
export const FREE = '/free'
export const PRICE = '$0.01'
/** That price in the token's units. */
export const AMOUNT = '10000'
/** What is charged where that is a maximum. */
export const CHARGE = '$0.004'
export const CHARGED = '4000'

/** What a buyer gets. */
export const GOODS = { report: 'sunny', temperature: 21 } as const

/** A project's token at our own server; the official one has no such thing. */
export const TOKEN = 'x402_token-of-the-benchmark'

/** Where a stack verifies and settles. */
export const API: Readonly<
  Record<'ours' | 'official', { readonly verify: string; readonly settle: string }>
> = {
  ours: { verify: '/api/v2/payment/verify', settle: '/api/v2/payment/settle' },
  official: { verify: '/verify', settle: '/settle' },
}

/** Makes the app of a stack. */
export type ServerApp = (setup: ServerSetup) => Promise<RequestListener>
