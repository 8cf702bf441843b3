import { resolveFromAnywhere, rpcUrlName } from './config/read/from-environment.js'
import type { GatewayOptions } from './config/options.js'
import type { Gateway } from './gateway-interface.js'
import { openGateway } from './open-gateway.js'

export type { CloseOptions, Gateway } from './gateway-interface.js'

/**
 * Creates a gateway.
 *
 * @param options - Checked at once; nothing is asked of nodes and databases yet, except that with
 * `admin` the ledger is opened to read its projects. A second later, each node that was not used by then
 * is asked which chain it is on; the logger gets an error if it is another one, and a warning if the node
 * does not answer.
 * @returns The middleware, the API and the core, bound to these options.
 * @throws `ConfigError` (`config_invalid`) with everything that is wrong in `issues`, each by
 * the path of its option.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { createGateway } from 'express-x402-gateway'
 *
 * const gateway = createGateway({
 *   networks: {
 *     base: { rpcUrl: 'https://base.example', relayerKeys: [process.env['RELAYER_KEY'] ?? ''] },
 *   },
 *   projects: [
 *     { id: 'shop', merchant: { payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C' } },
 *   ],
 * })
 * const app = express()
 * app.get('/report', gateway.x402Protect('$0.25'), (_req, res) => void res.json({ paid: true }))
 * app.use(gateway.gatewayRouter())
 * ```
 */
export function createGateway(options: GatewayOptions): Gateway {
  return openGateway(resolveFromAnywhere(options), {
    nameUrl: (network) => rpcUrlName(options, network),
  })
}
