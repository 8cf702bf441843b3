import { ConfigError } from '../errors.js'
import { handlerDescriptor, UCP_VERSION } from './handler.js'

/** What a profile declares: entries by their reverse-domain name. */
export type UcpRegistry = Readonly<Record<string, readonly object[]>>

/**
 * Options of {@link ucpProfile}: everything in a profile but our own payment handler.
 *
 * @example
 * ```ts
 * import type { UcpProfileOptions } from 'express-x402-gateway'
 *
 * const options: UcpProfileOptions = {
 *   capabilities: { 'dev.ucp.shopping.checkout': [{ version: '2026-04-08' }] },
 * }
 * ```
 */
export interface UcpProfileOptions {
  /** Version of UCP that the business implements. @defaultValue `'2026-04-08'` */
  readonly version?: string
  /**
   * How platforms reach the business: `{ 'dev.ucp.shopping': [{ version, transport, endpoint }] }`.
   * @defaultValue none
   */
  readonly services?: UcpRegistry
  /**
   * What the business can do: `{ 'dev.ucp.shopping.checkout': [{ version, schema }] }`.
   * @defaultValue none
   */
  readonly capabilities?: UcpRegistry
  /** Other payment handlers that the business accepts. @defaultValue none */
  readonly paymentHandlers?: UcpRegistry
}

/** The profile of a business, as it is published at `/.well-known/ucp`. */
export interface UcpProfile {
  /** The one member of the document. Names inside are those of UCP. */
  readonly ucp: {
    readonly version: string
    readonly services: UcpRegistry
    readonly capabilities: UcpRegistry
    readonly payment_handlers: UcpRegistry
  }
}

/** The UCP payment handler of a gateway. */
export interface UcpHandler {
  /** Reverse-domain name of the handler (option `handlerId`). */
  readonly id: string
  /** Root URL under which its documents are published; `undefined` when it is not configured. */
  readonly docsUrl: string | undefined
}

/**
 * Writes the UCP profile of a business that is paid through a gateway.
 *
 * Serve the profile at `/.well-known/ucp`. It is the same for every client and holds no secret. Its
 * form is that of UCP 2026-01-23, 2026-04-08 and the draft after them, as long as the given parts
 * follow them too.
 *
 * @param gateway - A gateway with `ucp.docsUrl` or `publicUrl`: profiles name absolute URLs.
 * `publicUrl` is enough when the gateway's router is mounted at the root.
 * @param options - What the business declares besides.
 * @returns The profile, ready for `res.json`.
 * @throws {@link ConfigError} with code `config_invalid` when the gateway has neither URL.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { createGateway, ucpProfile } from 'express-x402-gateway'
 *
 * const gateway = createGateway({ publicUrl: 'https://shop.example' })
 * const profile = ucpProfile(gateway, {
 *   capabilities: { 'dev.ucp.shopping.checkout': [{ version: '2026-04-08' }] },
 * })
 * express().get('/.well-known/ucp', (_req, res) => void res.json(profile))
 * ```
 */
export function ucpProfile(
  { ucpHandler: { id, docsUrl } }: { readonly ucpHandler: UcpHandler },
  options: UcpProfileOptions = {},
): UcpProfile {
  if (docsUrl === undefined)
    throw new ConfigError(
      'ucp.docsUrl',
      "is missing: the root URL under which the gateway's /ucp is published; `publicUrl` will do where the router is mounted at its root",
      'missing_option',
    )
  const { version = UCP_VERSION, services = {}, capabilities = {}, paymentHandlers } = options
  const payment_handlers = { ...paymentHandlers, [id]: [handlerDescriptor({ id, docsUrl })] }
  return { ucp: { version, services, capabilities, payment_handlers } }
}
