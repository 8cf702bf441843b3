/** Names what sets an option: its variable, where that is set. */
import type { Environment } from '../../config/read/variables.js'
import { sameNetwork, type Network } from '../../protocol/networks.js'

const isSet = (env: Environment, variable: string): boolean => Boolean(env[variable]?.trim())

/** The option or variable that sets a node's URL. */
export function rpcOption(env: Environment, { caip2, shortName }: Network): string {
  const meant = env['X402_NETWORK']?.trim()
  const isMeant = meant === undefined || meant === '' || sameNetwork(meant, caip2)
  if (isSet(env, 'X402_RPC_URL') && isMeant) return 'X402_RPC_URL'
  return `networks.${shortName ?? caip2}.rpcUrl`
}

/** The option or variable that sets an option. */
export const nameOption = (env: Environment, variable: string, option: string): string =>
  isSet(env, variable) ? variable : option
