import { nameVariables, optionsFromEnvironment } from './config/environment.js'
import { ConfigError } from './errors.js'
import { createGateway, type Gateway } from './gateway.js'

/**
 * Where the default gateway is kept: in the process, not in this module.
 *
 * An app may load this package twice, as an ES module and as CommonJS, or in two versions. With a
 * gateway each, one payment could be honoured twice, and two relayers would use the same account. The
 * first copy that needs one makes it; what the others call are its public functions, whose names and
 * forms stay the same from version to version.
 */
const KEY = Symbol.for('express-x402-gateway.default')

const shared = globalThis as { [KEY]?: Pick<Gateway, 'x402Protect' | 'gatewayRouter'> }

/**
 * The gateway of the package-level functions, built from the environment at first use.
 *
 * @throws {@link ConfigError} naming every variable that is missing or wrong.
 */
export function defaultGateway(): Pick<Gateway, 'x402Protect' | 'gatewayRouter'> {
  try {
    return (shared[KEY] ??= createGateway(optionsFromEnvironment(process.env)))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw nameVariables(error, { env: process.env, isAlone: true })
  }
}
