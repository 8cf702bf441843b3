import { omitUndefined } from './config/resolve/fields.js'
import { fromEnvironment } from './config/read/from-environment.js'
import type { GatewayOptions } from './config/options.js'
import { ConfigError } from '../shared/errors.js'
import { createGateway, type CloseOptions, type Gateway } from './gateway.js'

export { markPaid } from '../sell/discovery/declared-routes.js'

/**
 * Key of the default gateway, which the whole process shares.
 *
 * An app may load this package twice, as an ES module and as CommonJS, or in two versions. With a
 * gateway in each copy, one payment could be honoured twice, and two relayers would use the same
 * account. The first copy that needs the gateway creates it. The others call only its public
 * functions, which stay compatible from version to version.
 */
const KEY = Symbol.for('express-x402-gateway.default')

const shared = globalThis as { [KEY]?: Gateway | StandIn }

/** Takes the place of the default gateway while an app is tested. */
export interface StandIn extends Gateway {
  /** Takes the options with which the app calls `defaultGateway`. */
  setOptions(options: GatewayOptions): void
}

/**
 * Replaces the default gateway of this process, also for other copies of this package.
 *
 * @returns Whether there was one, with routes that stay on it.
 */
export function standInForDefault(standIn: StandIn): boolean {
  const existing = shared[KEY]
  shared[KEY] = standIn
  return existing !== undefined && !('setOptions' in existing)
}

/**
 * The gateway behind the functions `x402Protect` and `gatewayRouter` of this package. It is created from
 * `X402_*` environment variables, see {@link fromEnvironment}, when it is first needed: by a route, by
 * the router, or by this function.
 *
 * Use it to listen to events, to mount the health probes, and to close the gateway when the app ends.
 * After `close`, the next use creates another one; routes that were declared before respond with 503.
 *
 * @param options - What is not in the environment, for example a `logger`, and what replaces it. Only
 * the first use can set options: call the function before the first route is declared.
 * @returns The gateway, the same one each time.
 * @throws {@link ConfigError} (`config_invalid`) naming every variable and option that is missing or
 * wrong; and if there are options (`conflicting_options`) although the gateway exists.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { defaultGateway, x402Protect } from 'express-x402-gateway'
 *
 * const gateway = defaultGateway({ logger: console })
 * gateway.on('settled', ({ amount, transaction }) => console.info(amount, transaction))
 *
 * const app = express()
 * app.get('/weather', x402Protect('$0.01'), (_req, res) => void res.json({ forecast: 'sunny' }))
 * const server = app.listen(3000)
 * for (const signal of ['SIGINT', 'SIGTERM'])
 *   process.once(signal, () => {
 *     server.close()
 *     void gateway.close()
 *   })
 * ```
 */
export function defaultGateway(options: GatewayOptions = {}): Gateway {
  const given = omitUndefined(options)
  const existing = shared[KEY]
  if (existing === undefined) return create(given)
  if (Object.keys(given).length === 0) return existing
  if ('setOptions' in existing) {
    existing.setOptions(given)
    return existing
  }
  throw new ConfigError(
    'defaultGateway',
    'the default gateway exists, so its options cannot be set any more: call defaultGateway(options) before the first x402Protect and gatewayRouter',
    'conflicting_options',
  )
}

function create(options: GatewayOptions): Gateway {
  const gateway = createGateway({ ...fromEnvironment(), ...options })
  let closed: Promise<void> | undefined
  const made: Gateway = {
    ...gateway,
    close: (within) => (closed ??= close(within)),
  }
  const close = async (within?: CloseOptions): Promise<void> => {
    // Only once its relayers have ended: another gateway may use the same accounts.
    await gateway.close(within)
    if (shared[KEY] === made) delete shared[KEY]
  }
  shared[KEY] = made
  return made
}
