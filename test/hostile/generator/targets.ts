/** Where payments are presented. */
import { TOKEN } from '../../faults/world.js'

/** Identify tokens of projects. */
export const TOKENS = { shop: TOKEN, other: 'x402_test-token-of-another-project' } as const

/** A paid route, a payment link, or an endpoint of the API. */
export interface Target {
  readonly name: string
  /** Method and path of the request that presents a payment; links get their path when they are made. */
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** In cents. */
  readonly cents: number
  /** What the handler charges, where the price is a maximum (cents). */
  readonly charges?: number
  /** Whom it pays. */
  readonly project: 'shop' | 'other'
  /** It is an endpoint of the API: the payment comes in a body, with the offer that it is for. */
  readonly isApi: boolean
  /** Takes payments of version 1. */
  readonly takesVersion1: boolean
  /** Its offers carry a signed quote. */
  readonly hasQuote: boolean
}

const route: Omit<Target, 'name' | 'path'> = {
  method: 'GET',
  cents: 1,
  project: 'shop',
  isApi: false,
  takesVersion1: false,
  hasQuote: false,
}
/** The handlers charge a part of it, nothing, or all. */
const metered = { ...route, cents: 10 } as const
const endpoint = { ...route, method: 'POST', isApi: true } as const

export const TARGETS: readonly Target[] = [
  { ...route, name: 'a fixed price', path: '/report' },
  { ...route, name: 'a price function', path: '/priced?cents=3', cents: 3, hasQuote: true },
  { ...route, name: 'the cheaper of two prices', path: '/plans' },
  { ...route, name: 'the cheaper of two prices in euros', path: '/plans/euro', hasQuote: true },
  { ...route, name: 'the upfront flow', path: '/stream' },
  { ...route, name: 'a route open to version 1', path: '/old', takesVersion1: true },
  { ...route, name: 'a payment link', path: '/pay/', cents: 5 },
  { ...route, name: 'a route of another merchant', path: '/other', project: 'other' },
  ...[3, 0, 10].map((charges) => ({
    ...metered,
    ...{ name: `a maximum, ${charges} ct charged`, path: `/charged/${charges}`, charges },
  })),
  { ...endpoint, name: 'verify', path: '/api/v2/payment/verify' },
  { ...endpoint, name: 'settle', path: '/api/v2/payment/settle' },
  {
    ...endpoint,
    ...{ name: 'settle for another merchant', path: '/api/v2/payment/settle', project: 'other' },
  },
]
