import { sameNetwork, type Network } from '../../../shared/protocol/networks.js'
import { ConfigError, isConfigError, type ConfigIssue } from '../../../shared/errors.js'
import { explainUnknownVariables, nameVariables } from './name-variables.js'
import { isAnySet, type Environment } from './variables.js'
import { optionsFromEnvironment } from './override.js'
import type { GatewayOptions } from '../options.js'
import { resolveOptions, type ResolvedOptions } from '../resolve/resolve-options.js'

/**
 * Key under which options remember the variables that they were read from. It is registered, so that
 * the other copy of a package that was loaded twice finds it, and a symbol, so that spreading copies it.
 */
const SOURCE = Symbol.for('express-x402-gateway.environment')

/** Options that may come from environment variables, in whole or in part. */
interface SourcedOptions extends GatewayOptions {
  readonly [SOURCE]?: { readonly env: Environment; readonly options: GatewayOptions }
}

/**
 * Reads options from `X402_*` environment variables, as the default gateway does.
 *
 * Spread them into the options of a gateway of your own. What is written after them replaces them, one
 * option as a whole. The options are checked by {@link createGateway}, which reports mistakes under the
 * names of the variables.
 *
 * Required, unless `networks` and `projects` are replaced: `X402_PAY_TO`, `X402_NETWORK`, and either
 * `X402_RPC_URL` with `X402_RELAYER_KEY` or `X402_FACILITATOR_URL`. The merchant is that of the project
 * `default`.
 *
 * @param env - The variables. @defaultValue `process.env`
 * @returns Options for `createGateway`. If `X402_DATABASE_URL` is set, they hold a ledger: use them for
 * one gateway.
 * @throws {@link ConfigError} (`config_invalid`) if `X402_FACILITATOR_URL` is not an http(s) URL, or the
 * ledger of `X402_DATABASE_URL` cannot be created.
 *
 * @example
 * ```ts
 * import { createGateway, fromEnvironment } from 'express-x402-gateway'
 *
 * const gateway = createGateway({
 *   ...fromEnvironment(),
 *   logger: console,
 *   rates: { 'EUR/USD': '1.08' },
 * })
 * gateway.on('settled', ({ amount, transaction }) => console.info(amount, transaction))
 * ```
 */
export function fromEnvironment(
  env: Readonly<Record<string, string | undefined>> = process.env,
): GatewayOptions {
  const options = nameMistakes(env, () => optionsFromEnvironment(env))
  // Options are printed in logs: the secrets of other programs must not be among them.
  const own = Object.entries(env).filter(
    ([name]) => name.startsWith('X402_') || TEST_RUNNERS.includes(name),
  )
  const sourced: SourcedOptions = {
    ...options,
    [SOURCE]: { env: Object.fromEntries(own), options },
  }
  return sourced
}

/**
 * Resolves options that may be read from the environment, and reports mistakes in those under the names
 * of variables.
 *
 * @throws {@link ConfigError}
 *
 * @internal
 */
export function resolveFromAnywhere(options: GatewayOptions): ResolvedOptions {
  const source = (options as SourcedOptions | undefined)?.[SOURCE]
  if (source === undefined) return resolveOptions(options)
  const isRead = (path: string): boolean => {
    const name = path.split('.')[0] as keyof GatewayOptions
    return options[name] === source.options[name]
  }
  const resolved = nameMistakes(source.env, () => resolveOptions(options), isRead)
  for (const unknown of explainUnknownVariables(source.env, [])) resolved.logger.warn(unknown)
  return resolved
}

/** Names what sets the URL of a network's node: a variable, where the networks are those of the environment. */
export function rpcUrlName(options: GatewayOptions, { caip2 }: Pick<Network, 'caip2'>): string {
  const source = (options as SourcedOptions)[SOURCE]
  if (source !== undefined && options.networks === source.options.networks) return 'X402_RPC_URL'
  const name = Object.keys(options.networks ?? {}).find((one) => sameNetwork(one, caip2))
  return `networks.${name ?? caip2}.rpcUrl`
}

function nameMistakes<T>(
  env: Environment,
  run: () => T,
  isRead: (path: string) => boolean = () => true,
): T {
  try {
    return run()
  } catch (error) {
    if (!isConfigError(error)) throw error
    const issues = error.issues.flatMap((issue) =>
      isRead(issue.option)
        ? nameVariables(new ConfigError([issue]), { env, isAlone: true }).issues
        : [issue],
    )
    throw new ConfigError(isAnySet(env) ? issues : [...issues, nothingSet(env)])
  }
}

/** Variables by which vitest, jest and node:test are known. */
const TEST_RUNNERS = ['VITEST', 'JEST_WORKER_ID', 'NODE_TEST_CONTEXT']

/** Reported last where the environment has nothing for a gateway: mostly, it is the first start, or a test. */
function nothingSet(env: Environment): ConfigIssue {
  const remedy = TEST_RUNNERS.some((name) => env[name] !== undefined)
    ? 'In a test, import express-x402-gateway/testing before the app: no variable is needed then.'
    : 'To try it with play money: `npx express-x402-gateway devnet --env devnet.env`, then `node --env-file=devnet.env app.mjs`'
  return {
    option: 'X402_*',
    code: 'missing_option',
    message: `no X402_ variable is set. ${remedy}`,
  }
}
