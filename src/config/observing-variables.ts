import type { GatewayOptions } from './options.js'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The value of a variable; a blank one counts as not set. */
export function read(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined
}

/** The options of metrics, traces, the access log, and whose addresses it has. */
type Observing = Pick<GatewayOptions, 'metrics' | 'traces' | 'accessLog' | 'trustProxy'>

/**
 * Reads the variables of these options.
 *
 * @param file - The option `metrics` of the configuration file; variables override its members.
 * @returns Only what is set. Invalid values are reported later, by the check of the options.
 */
export function observingFrom(env: Environment, file?: Observing['metrics']): Observing {
  const traces = flag(read(env, 'X402_TRACES'))
  const accessLog = flag(read(env, 'X402_ACCESS_LOG'))
  const trustProxy = read(env, 'X402_TRUST_PROXY')
  return {
    ...metricsFrom(env, file),
    ...(traces !== undefined && { traces }),
    ...(accessLog !== undefined && { accessLog }),
    ...(trustProxy !== undefined && { trustProxy: trustedFrom(trustProxy) }),
  }
}

/** A token, host or port turns metrics on, unless `X402_METRICS` is `false`. */
function metricsFrom(env: Environment, file: Observing['metrics']): Pick<Observing, 'metrics'> {
  const isOn: unknown = flag(read(env, 'X402_METRICS'))
  const token = read(env, 'X402_METRICS_TOKEN')
  const host = read(env, 'X402_METRICS_HOST')
  const port = read(env, 'X402_METRICS_PORT')
  const own = {
    ...(token !== undefined && { token }),
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port: numberOf(port) }),
  }
  const isSet = Object.keys(own).length > 0
  if (isOn === undefined && !isSet) return {}
  if (isOn !== undefined && isOn !== true) return { metrics: isOn as boolean }
  const settings = { ...(typeof file === 'object' && file), ...own }
  return { metrics: Object.keys(settings).length > 0 ? settings : true }
}

/** Reads `true` and `false`. Any other text stays as it is, and the check of the options refuses it. */
export function flag(text: string | undefined): boolean | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  return text as undefined
}

/** Reads which proxies are trusted: a number, `false`, or addresses. */
function trustedFrom(text: string): NonNullable<Observing['trustProxy']> {
  if (text === 'false') return false
  return /^\d{1,9}$/.test(text) ? Number(text) : text
}

const numberOf = (text: string): number =>
  /^\d{1,9}$/.test(text) ? Number(text) : (text as unknown as number)
