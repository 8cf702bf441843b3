import { chainlinkRates } from '../chain/chainlink-rates.js'
import { ConfigError } from '../errors.js'
import type { Asset } from '../money/assets.js'
import { firstOf } from '../money/first-of.js'
import { httpRates } from '../money/http-rates.js'
import { fixedRates, type RateSource } from '../money/rates.js'
import { hasShape, isObject, within, type Report } from './report.js'
import { chainlinkSchema, hasMethod, httpRatesSchema } from './schemas.js'
import type { GatewayOptions, RatesOptions } from './options.js'
import { sameNetwork } from '../protocol/networks.js'

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
  if (isObject(source) && 'chainlink' in source && isObject(source.chainlink))
    return resolveChainlink(source as ChainlinkEntry, context)
  if (isObject(source) && 'http' in source && isObject(source.http))
    return resolveHttp(source as HttpEntry, context)
  if (isObject(source)) return resolveFixed(source as FixedEntry, context)
  // The option as a whole has been looked at before.
  if (path !== 'rates') report(path, 'must be rates by pair, or a source of rates')
  return NONE
}

/** Stands for a source that is reported as wrong. */
const NONE = fixedRates({})

type ChainlinkEntry = Extract<RatesOptions, { readonly chainlink: object }>
type HttpEntry = Extract<RatesOptions, { readonly http: object }>
type FixedEntry = Readonly<Record<string, string>>

function resolveChainlink(entry: ChainlinkEntry, context: Context): RateSource {
  const { report, path, options } = context
  if (!hasShape(chainlinkSchema, entry, within(report, path))) return NONE
  const { chainlink } = entry
  const rpcUrl = chainlink.rpcUrl ?? rpcUrlOf(options, chainlink.network)
  if (rpcUrl !== undefined)
    return attempt(context, () => chainlinkRates({ ...chainlink, rpcUrl, ...clockOf(options) }))
  report(`${path}.chainlink.rpcUrl`, 'is missing: this network is not among `networks`')
  return NONE
}

function resolveHttp(entry: HttpEntry, context: Context): RateSource {
  const { report, path, options } = context
  if (!hasShape(httpRatesSchema, entry, within(report, path))) return NONE
  return attempt(context, () => httpRates({ ...entry.http, ...clockOf(options) }))
}

function resolveFixed(entry: FixedEntry, context: Context): RateSource {
  const settings = { symbols: context.symbols, ...clockOf(context.options) }
  // Each pair by itself, so that every mistake is told.
  const sound = Object.entries(entry).filter(
    ([pair, rate]) => attempt(context, () => fixedRates({ [pair]: rate }, settings)) !== NONE,
  )
  return fixedRates(Object.fromEntries(sound), settings)
}

function clockOf({ now }: GatewayOptions): Pick<GatewayOptions, 'now'> {
  return now === undefined ? {} : { now }
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
    return NONE
  }
}
