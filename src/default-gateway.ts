import { nameVariables, optionsFromEnvironment } from './config/environment.js'
import type { GatewayOptions } from './config/options.js'
import { isConfigError } from './errors.js'
import { createGateway, type Gateway } from './gateway.js'

/**
 * Key of the default gateway, which the whole process shares.
 *
 * An app may load this package twice, as an ES module and as CommonJS, or in two versions. With a
 * gateway in each copy, one payment could be honoured twice, and two relayers would use the same
 * account. The first copy that needs the gateway creates it. The others call only its public
 * functions, which stay compatible from version to version.
 */
const KEY = Symbol.for('express-x402-gateway.default')

const shared = globalThis as { [KEY]?: Pick<Gateway, 'x402Protect' | 'gatewayRouter'> }

/** Takes the place of the default gateway while an app is tested. */
export interface StandIn extends Gateway {
  /** Takes the options with which an app calls `defaultGateway`. */
  setOptions(options: GatewayOptions): void
}

/** Replaces the default gateway of this process, also for other copies of this package. */
export function standInForDefault(standIn: StandIn): void {
  shared[KEY] = standIn
}

/**
 * The gateway of the package-level functions, created from the environment at first use.
 *
 * @throws {@link ConfigError} (`config_invalid`) naming every variable that is missing or wrong.
 */
export function defaultGateway(): Pick<Gateway, 'x402Protect' | 'gatewayRouter'> {
  try {
    return (shared[KEY] ??= createGateway(optionsFromEnvironment(process.env)))
  } catch (error) {
    if (!isConfigError(error)) throw error
    throw nameVariables(error, { env: process.env, isAlone: true })
  }
}
