import { ConfigError } from '../../../shared/errors.js'
import { handlerDescriptor, UCP_VERSION } from './handler.js'
import { checkProfileOptions, KEYS_VERSION } from './profile-options.js'
import type { UcpProfileOptions, UcpPublicKey, UcpRegistry } from './profile-options.js'

/** The profile of a business, published at `/.well-known/ucp`. */
export interface UcpProfile {
  /** Names inside are UCP's. */
  readonly ucp: {
    readonly version: string
    readonly supported_versions?: Readonly<Record<string, string>>
    readonly services: UcpRegistry
    readonly capabilities: UcpRegistry
    readonly payment_handlers: UcpRegistry
  }
  /** Since UCP 2026-08-25. */
  readonly keys?: readonly UcpPublicKey[]
  /** Before UCP 2026-08-25. */
  readonly signing_keys?: readonly UcpPublicKey[]
}

/** The UCP payment handler of a gateway. */
export interface UcpHandler {
  /** Reverse-domain name of the handler (option `handlerId`). */
  readonly id: string
  /** Root URL of its documents; `undefined` if not configured. */
  readonly docsUrl: string | undefined
}

/**
 * Writes the UCP profile of a business that is paid through a gateway.
 *
 * Serve the profile at `/.well-known/ucp`. It is the same for every client and holds no secret. It
 * follows UCP 2026-04-08 and 2026-08-25, as long as the given parts do.
 *
 * @param gateway - A gateway with `ucp.docsUrl` or `publicUrl`: profiles contain absolute URLs.
 * `publicUrl` is enough when the gateway's router is mounted at the root.
 * @param options - Other declarations of the business.
 * @returns The profile, ready for `res.json`.
 * @throws {@link ConfigError} with code `config_invalid` when the gateway has neither URL, when a key is not
 * public, and when platforms would refuse a version.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { createGateway, ucpProfile } from 'express-x402-gateway'
 *
 * const gateway = createGateway({ publicUrl: 'https://shop.example' })
 * const profile = ucpProfile(gateway, {
 *   capabilities: { 'dev.ucp.shopping.checkout': [{ version: '2026-08-25' }] },
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
      "is missing: the root URL of the gateway's /ucp; `publicUrl` is enough if the router is mounted at its root",
      'missing_option',
    )
  const { version = UCP_VERSION, services = {}, capabilities = {}, paymentHandlers } = options
  const { keys, supportedVersions: supported_versions } = options
  checkProfileOptions({ ...options, version })
  const payment_handlers = { ...paymentHandlers, [id]: [handlerDescriptor({ id, docsUrl })] }
  return {
    ucp: {
      version,
      ...(supported_versions && { supported_versions }),
      services,
      capabilities,
      payment_handlers,
    },
    ...(keys && { [version < KEYS_VERSION ? 'signing_keys' : 'keys']: keys }),
  }
}
