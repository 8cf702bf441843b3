import { chainlinkRates } from './chain/chainlink-rates.js'
import { ConfigError } from './errors.js'
import type { Asset } from './money/assets.js'
import { firstOf } from './money/first-of.js'
import { httpRates } from './money/http-rates.js'
import { fixedRates, type RateSource } from './money/rates.js'
import { hasShape, isObject, within, type Report } from './option-report.js'
import { chainlinkSchema, hasMethod, httpRatesSchema } from './option-schemas.js'
import type { GatewayOptions, RatesOptions } from './options.js'
import { sameNetwork } from './protocol/networks.js'

/** What rates are made of. */
interface Context {
  readonly options: GatewayOptions
  /** What rates call tokens. */
  readonly symbols: readonly string[]
  /** Path of the option. */
  readonly path: string
  readonly report: Report
}

/**
 * Makes the source of rates that options describe.
 *
 * @param assets - All of the gateway's.
 */
export function resolveRates(
  options: GatewayOptions,
  assets: readonly Asset[],
  report: Report,
): RateSource {
  const { rates } = options
  const symbols = assets.flatMap(namesInRates)
  if (rates === undefined && symbols.length > 0)
    report('rates', `is missing: something must tell the rate of ${symbols.join(', ')}`)
  const resolve = (source: unknown, path: string): RateSource =>
    resolveSource(source, { options, symbols, path, report })
  if (!Array.isArray(rates)) return resolve(rates ?? {}, 'rates')
  return firstOf(...rates.map((source: unknown, index) => resolve(source, `rates.${index}`)))
}

/** What rates must be able to tell of an asset. */
function namesInRates({ symbol, currency, rateSymbol, depegGuardBps }: Asset): readonly string[] {
  if (currency === undefined) return rateSymbol === undefined ? [] : [rateSymbol]
  return depegGuardBps === undefined ? [] : [rateSymbol ?? symbol]
}

function resolveSource(source: unknown, context: Context): RateSource {
  const { report, path } = context
  if (hasMethod(source, 'getRate')) return source as RateSource
  if (!isObject(source)) {
    if (path !== 'rates') report(path, 'must be rates by pair, or a source of rates')
    return fixedRates({})
  }
  const clock = context.options.now && { now: context.options.now }
  if ('chainlink' in source && isObject(source.chainlink)) {
    if (!hasShape(chainlinkSchema, source, within(report, path))) return fixedRates({})
    const { chainlink } = source as Extract<RatesOptions, { chainlink: object }>
    const rpcUrl = chainlink.rpcUrl ?? rpcUrlOf(context.options, chainlink.network)
    if (rpcUrl === undefined)
      report(`${path}.chainlink.rpcUrl`, 'is missing: this network is not among `networks`')
    return attempt(context, () => chainlinkRates({ ...chainlink, rpcUrl: rpcUrl ?? '', ...clock }))
  }
  if ('http' in source && isObject(source.http)) {
    if (!hasShape(httpRatesSchema, source, within(report, path))) return fixedRates({})
    const { http } = source as Extract<RatesOptions, { http: object }>
    return attempt(context, () => httpRates({ ...http, ...clock }))
  }
  const settings = { symbols: context.symbols, ...clock }
  // Each pair by itself, so that every mistake is told.
  for (const [pair, rate] of Object.entries(source))
    attempt(context, () => fixedRates({ [pair]: rate as string }, settings))
  return attempt({ ...context, report: () => undefined }, () =>
    fixedRates(source as Readonly<Record<string, string>>, settings),
  )
}

function rpcUrlOf({ networks }: GatewayOptions, network: string): string | undefined {
  return Object.entries(networks ?? {}).find(([id]) => sameNetwork(id, network))?.[1]?.rpcUrl
}

/** Reports mistakes by the path at which they are. */
function attempt({ path, report }: Context, make: () => RateSource): RateSource {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const { option, message } of error.issues) report(option.replace(/^rates/, path), message)
    return fixedRates({})
  }
}
