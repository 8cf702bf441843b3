/** The dialects of paying: x402 version 2, and others that are read as it and written from it. */
import type { DecodedPayload } from '../../shared/protocol/decoded-payment.js'
import type {
  PaymentRequired,
  PaymentRequirements,
  SettleResponse,
} from '../../shared/protocol/payment.js'
import type { PaymentChallenge } from '../../shared/protocol/mpp.js'
import type { RequestView } from './request-view.js'

export interface PaymentDialect {
  /** Reads the payment of a request; `undefined` if it brings none in this dialect. */
  read(view: RequestView): Promise<PresentedPayment | undefined>
  /** Writes the document of a 402: nothing, if nothing in it can be paid in this dialect. */
  challenge(document: PaymentRequired): Partial<Challenge>
  receipt(settlement: SettleResponse): Receipt
}

export type PresentedPayment =
  /** `problem` is for the developer of the client. */
  | { readonly kind: 'unreadable'; readonly problem: string }
  /** Another protocol version: readable, but refused. */
  | { readonly kind: 'other_version' }
  /** Readable, and good for nothing here. `error` is a reason. */
  | { readonly kind: 'refused'; readonly error: string; readonly message: string }
  | {
      readonly kind: 'payment'
      readonly decoded: DecodedPayload
      readonly accepted: PaymentRequirements
      /** What its buyer calls the network, and so the answer. @defaultValue as in the offer */
      readonly network?: string
    }

/** A 402. */
export interface Challenge {
  /** The document of its `PAYMENT-REQUIRED` header, in JSON. */
  readonly header: string
  readonly body: string
  /** Those of its `WWW-Authenticate` headers. @defaultValue none */
  readonly challenges?: readonly PaymentChallenge[]
  /** Members that its body has besides. @defaultValue none */
  readonly problem?: object
}

export type Receipt = Readonly<Record<string, string>>

/** Reads the payment of a request, if it has one, in the first dialect that knows it. */
export async function readPayment(
  dialects: readonly PaymentDialect[],
  view: RequestView,
): Promise<(PresentedPayment & { readonly dialect: PaymentDialect }) | undefined> {
  for (const dialect of dialects) {
    const presented = await dialect.read(view)
    if (presented !== undefined) return { ...presented, dialect }
  }
  return undefined
}

/** Asks in all dialects at once. A response has one body: that of the first dialect which writes any. */
export function challengeIn(
  dialects: readonly PaymentDialect[],
  document: PaymentRequired,
): Challenge {
  const challenges = dialects.map((dialect) => dialect.challenge(document))
  return Object.assign({}, ...challenges.toReversed()) as Challenge
}
