/** Reports mistakes in options under the names of the variables that set them, and variables that nothing reads. */
import { ConfigError, type ConfigIssue } from '../../../shared/errors.js'
import { closestName } from '../../../shared/protocol/did-you-mean.js'
import { sameNetwork, type Network } from '../../../shared/protocol/networks.js'
import { ELSEWHERE } from '../../../shared/protocol/option-issues.js'
import { OPTION_PATHS } from '../resolve/resolve-options.js'
import { NAMES, textOf, VARIABLES, type Environment } from './variables.js'

/**
 * Reports the `X402_…` variables that nothing reads, with the ones that were probably meant.
 *
 * @param referred - Variables that a configuration file refers to.
 */
export function explainUnknownVariables(
  env: Environment,
  referred: readonly string[],
): readonly string[] {
  return unknownVariables(env, referred).map((name) => {
    const hint = whatWasMeant(name)
    return `${name}: nothing reads this variable${hint ? `; ${hint}` : ''}`
  })
}

/** Points to a variable, or from `X402_METRICS_HOST` to `metrics.host`, an option that no variable sets. */
function whatWasMeant(name: string): string | undefined {
  const lettersOf = (text: string): string => text.replaceAll(/[._]/g, '').toLowerCase()
  const isNamed = (option: string): boolean => `x402${lettersOf(option)}` === lettersOf(name)
  const isSet = (option: string): boolean => VARIABLES.some(([, path]) => path === option)
  if (NAMES.includes(name)) return 'set X402_FACILITATOR_URL, too, or this gateway settles itself'
  const option = OPTION_PATHS.find((path) => isNamed(path) && !isSet(path))
  if (option !== undefined) return `set the option ${option}`
  const variable = closestName(name, NAMES)
  if (variable !== undefined) return `did you mean ${variable}?`
  return [...ELSEWHERE].find(([known]) => isNamed(known))?.join(' ')
}

function unknownVariables(env: Environment, referred: readonly string[]): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('X402_') && textOf(env, name) !== undefined)
    .filter((name) => !referred.includes(name) && !isRead(name, env))
}

/** A facilitator's token is for its URL. */
const isRead = (name: string, env: Environment): boolean =>
  NAMES.includes(name) &&
  (name !== 'X402_FACILITATOR_TOKEN' || textOf(env, 'X402_FACILITATOR_URL') !== undefined)

/** The variables by the paths of their options, which may end in an index; the name of a network is captured. */
const PATHS = VARIABLES.flatMap(([name, option]) => {
  const path = option?.replaceAll('.', '\\.').replace('*', '([^.]*)')
  return path === undefined ? [] : [{ name, path: new RegExp(`^${path}(?:\\.\\d+)?$`) }]
})

/** The variable that is set and sets an option; otherwise the option itself. */
export function sourceOf(option: string, env: Environment): string {
  const found = PATHS.find(({ name, path }) => {
    const match = path.exec(option)
    return match !== null && textOf(env, name) !== undefined && isMeant(match[1], env)
  })
  return found?.name ?? option
}

export const rpcOption = ({ shortName, caip2 }: Pick<Network, 'shortName' | 'caip2'>): string =>
  `networks.${shortName ?? caip2}.rpcUrl`

function isMeant(network: string | undefined, env: Environment): boolean {
  const meant = textOf(env, 'X402_NETWORK')
  return network === undefined || meant === undefined || sameNetwork(meant, network)
}

interface OptionSource {
  readonly env: Environment
  /**
   * No file was read, so a missing option can only come from its variable. With a file, an option whose
   * variable is not set keeps its path.
   */
  readonly isAlone: boolean
  /** Variables that the file refers to. @defaultValue none */
  readonly referred?: readonly string[]
}

/**
 * Reports wrong options under the variables they come from. A missing one is reported with the variable
 * that was set instead by a typing error.
 *
 * @param error - Names options by their path.
 */
export function nameVariables(error: ConfigError, source: OptionSource): ConfigError {
  const { env, isAlone, referred = [] } = source
  const unknown = unknownVariables(env, referred)
  const nameOf = (issue: ConfigIssue): ConfigIssue => {
    const { option, code, message } = issue
    for (const { name, path } of PATHS) {
      const match = path.exec(option)
      if (match === null) continue
      const isSet = textOf(env, name) !== undefined
      const misnamed = unknown.find((one) => closestName(one, NAMES) === name)
      const hint =
        code === 'missing_option' && !isSet && misnamed !== undefined
          ? `; ${misnamed} is set: did you mean ${name}?`
          : ''
      const isSource = isAlone || (isSet && isMeant(match[1], env))
      return { code, option: isSource ? name : option, message: message + hint }
    }
    return issue
  }
  return new ConfigError(error.issues.map(nameOf))
}
