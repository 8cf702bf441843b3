import { serveGateway, type ApiAnswer, type GatewayApi } from '../api.js'
import { hashToken } from '../../../src/shared/crypto/identify-token.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'

/** The operator's token. */
export const ADMIN_TOKEN = 'an-admin-token-of-the-tests'

/** A token of the configured project `shop`. */
export const SHOP_TOKEN = 'a-project-token-of-the-tests'

/** An address that is paid. */
export const PAY_TO = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'

/** A gateway with one configured project, whose chain is never asked; without an admin API. */
export const CLOSED: GatewayOptions = {
  networks: {
    'base-sepolia': { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [`0x${'5e'.repeat(32)}`] },
  },
  projects: [{ id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: PAY_TO, name: 'Configured' } }],
}

/** The same with an admin API. */
export const OPEN: GatewayOptions = { ...CLOSED, admin: { tokens: [hashToken(ADMIN_TOKEN)] } }

/** A client of the admin API. */
export interface AdminClient {
  /** Sends a request with the admin's token, unless headers say otherwise. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ApiAnswer>
}

/** Talks to the admin API of a gateway. */
export function adminOf({ send }: Pick<GatewayApi, 'send'>, token = ADMIN_TOKEN): AdminClient {
  return {
    ask: (method, path, body, headers) =>
      send(method, `/api/v2/admin${path}`, {
        headers: {
          Authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && {
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
      }),
  }
}

/** Serves a gateway with its admin API. */
export async function serveAdmin(
  options: GatewayOptions = OPEN,
): Promise<GatewayApi & AdminClient> {
  const api = await serveGateway(options)
  return { ...api, ...adminOf(api) }
}
