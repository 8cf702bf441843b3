import { ConfigError } from '../errors.js'
import { handlerDescriptor, UCP_VERSION } from './handler.js'

/** What a profile declares, by reverse-domain name. */
export type UcpRegistry = Readonly<Record<string, readonly object[]>>

/** What a profile of UCP is made from, beside our own payment handler. */
export interface UcpProfileOptions {
  /** The version of UCP that the business speaks. @defaultValue `'2026-04-08'` */
  readonly version?: string
  /** How platforms reach the business: `{ 'dev.ucp.shopping': [{ version, transport, endpoint }] }`. */
  readonly services?: UcpRegistry
  /** What it can do: `{ 'dev.ucp.shopping.checkout': [{ version, schema }] }`. */
  readonly capabilities?: UcpRegistry
  /** Other payment handlers that it takes. */
  readonly paymentHandlers?: UcpRegistry
}

/** The profile of a business, as it is published at `/.well-known/ucp`. */
export interface UcpProfile {
  readonly ucp: {
    readonly version: string
    readonly services: UcpRegistry
    readonly capabilities: UcpRegistry
    readonly payment_handlers: UcpRegistry
  }
}

/** What a gateway knows of its UCP payment handler. */
export interface UcpHandler {
  /** Its name (`handlerId`). */
  readonly id: string
  /** Root under which its documents are published; left out, where nobody has said it. */
  readonly docsUrl: string | undefined
}

/**
 * Writes the profile of a business that is paid through a gateway.
 *
 * Serve it at `/.well-known/ucp`; it is the same for everybody, and holds no secret. It fits UCP
 * 2026-01-23, 2026-04-08 and the draft after them, as far as the given parts do.
 *
 * @param gateway - Its `ucp.docsUrl` or `publicUrl` must be set: profiles name absolute addresses.
 *   `publicUrl` will do where the gateway's router is mounted at the root.
 * @throws {@link ConfigError} where neither is.
 */
export function ucpProfile(
  { ucpHandler: { id, docsUrl } }: { readonly ucpHandler: UcpHandler },
  options: UcpProfileOptions = {},
): UcpProfile {
  if (docsUrl === undefined)
    throw new ConfigError(
      'ucp.docsUrl',
      "is missing: the root URL under which the gateway's /ucp is published; `publicUrl` will do where the router is mounted at its root",
    )
  return writeProfile({
    ...options,
    paymentHandlers: { ...options.paymentHandlers, [id]: [handlerDescriptor({ id, docsUrl })] },
  })
}

/** Writes a profile, of a business or of a platform. */
export function writeProfile({
  version = UCP_VERSION,
  services = {},
  capabilities = {},
  paymentHandlers = {},
}: UcpProfileOptions): UcpProfile {
  return { ucp: { version, services, capabilities, payment_handlers: paymentHandlers } }
}
