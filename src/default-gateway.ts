import { nameVariables, optionsFromEnvironment } from './environment.js'
import { ConfigError } from './errors.js'
import { createGateway, type Gateway } from './gateway.js'

let gateway: Gateway | undefined

/**
 * The gateway of the package-level functions, built from the environment at first use.
 *
 * @throws {@link ConfigError} naming every variable that is missing or wrong.
 */
export function defaultGateway(): Gateway {
  try {
    gateway ??= createGateway(optionsFromEnvironment(process.env))
    return gateway
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw nameVariables(error, { env: process.env, isAlone: true })
  }
}
