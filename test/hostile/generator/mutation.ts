import type {
  Hex,
  PaymentPayload,
  PaymentRequirements,
} from '../../../src/shared/protocol/payment.js'
import type { Random } from '../../soak/random.js'
import type { Kind, Shape, Terms } from './kind.js'
import type { Target } from './targets.js'

/** What must become of a payment that was changed in one way; `either` where nobody promises anything. */
export type Verdict = 'accepted' | 'either' | 'refused'

/** A JSON document that is being changed. */
export type Document = Record<string, unknown>

/** A request on its way. */
export interface WireRequest {
  readonly path: string
  /** Name and value; names may repeat. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: string | Buffer
}

/** What a mutation may know of the payment that it changes. */
export interface MutationContext {
  readonly kind: Kind
  readonly target: Target
  readonly random: Random
  /** Another valid payment of the same payer for the same offer. */
  readonly other: PaymentPayload
  /** Another buyer, who has money. */
  readonly victim: Hex
  /** Payments of the same terms in other shapes. */
  readonly foreign: Readonly<Partial<Record<Shape, PaymentPayload>>>
  /** Everything that the target offers. */
  readonly accepts: readonly PaymentRequirements[]
}

interface MutationBase {
  readonly name: string
  /** What it changes, as dotted paths: two mutations never change the same, or a part of it. */
  readonly parts: readonly string[]
  readonly verdict: Verdict | ((context: MutationContext) => Verdict)
  /** Where it makes sense. @defaultValue everywhere */
  readonly fits?: ((target: Target, kind: Kind) => boolean) | undefined
}

/** One way to change a valid payment, and when: before it is signed, or afterwards in one of its forms. */
export type Mutation = MutationBase &
  (
    | {
        readonly stage: 'terms'
        readonly change: (terms: Terms, context: MutationContext) => Terms
      }
    /** The payment, or the body of the API that holds it as `paymentPayload`. */
    | {
        readonly stage: 'document'
        readonly change: (document: Document, context: MutationContext) => void
      }
    /** The same as JSON. */
    | {
        readonly stage: 'text'
        readonly change: (text: string, context: MutationContext) => string | Buffer
      }
    | {
        readonly stage: 'request'
        readonly change: (request: WireRequest, context: MutationContext) => WireRequest
      }
  )

/** The order in which a payment takes its forms. */
export const STAGES = ['terms', 'document', 'text', 'request'] as const

/** What becomes of a payment that was changed in several ways. */
export function combine(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('refused')) return 'refused'
  return verdicts.includes('either') ? 'either' : 'accepted'
}

/** Whether two mutations change the same. */
export function overlap(one: Mutation, other: Mutation): boolean {
  return one.parts.some((a) =>
    other.parts.some((b) => a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`)),
  )
}

/** Reads a member by its dotted path. */
export function memberAt(document: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((part, name) => (part as Document | undefined)?.[name], document)
}

/** Writes a member by its dotted path; `undefined` removes it. Own members only, whatever their name. */
export function setMember(document: Document, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop()!
  const parent = names.length === 0 ? document : (memberAt(document, names.join('.')) as Document)
  if (value === undefined) delete parent[last]
  else {
    const descriptor = { value, enumerable: true, configurable: true, writable: true }
    Object.defineProperty(parent, last, descriptor)
  }
}
