/** The UCP payment handler that this gateway is: its descriptors and its published documents. */

/** Version of the handler: the day its documents last changed meaning. */
export const HANDLER_VERSION = '2026-11-21'

/** The kind of instrument that pays through this handler. */
export const INSTRUMENT_TYPE = 'x402'

/** What the documents of a handler are made from. */
export interface Handler {
  /** Its name, which is also the `id` of its entries. */
  readonly id: string
  /** Root URL under which `/ucp/…` is published. */
  readonly docsUrl: string
}

/** One entry of a business profile's `payment_handlers`. */
export interface HandlerDescriptor {
  readonly id: string
  readonly version: string
  /** The human-readable specification. */
  readonly spec: string
  /** The JSON schema. */
  readonly schema: string
  readonly available_instruments: readonly { readonly type: string }[]
  readonly config: object
}

/** Describes the handler, as business profiles carry it. */
export function handlerDescriptor({ id, docsUrl }: Handler): HandlerDescriptor {
  return {
    id,
    version: HANDLER_VERSION,
    spec: `${docsUrl}/ucp/gateway.md`,
    schema: `${docsUrl}/ucp/schema.json`,
    available_instruments: [{ type: INSTRUMENT_TYPE }],
    config: {},
  }
}
