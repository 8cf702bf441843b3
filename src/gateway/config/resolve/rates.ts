import { z } from 'zod'
import { isConfigError } from '../../../shared/errors.js'
import type { Asset } from '../../../shared/money/assets.js'
import { firstOf } from '../../../shared/money/first-of.js'
import { fixedRates } from '../../../shared/money/fixed-rates.js'
import { httpRates, type HttpRatesOptions } from '../../../shared/money/http-rates.js'
import type { RateSource } from '../../../shared/money/rates.js'
import { callback, hasMethod, httpUrl, omitUndefined, type FieldsOf } from './fields.js'
import type { GatewayOptions, HttpRatesEntry } from '../options.js'
import { isObject } from '../../../shared/protocol/document.js'
import { readOption, within, type Report } from './report.js'

const MAX_SECONDS = 31_536_000

const seconds = z.number().positive().max(MAX_SECONDS).optional()

/** A source of rates that a file can describe. */
const httpRatesSchema = z.strictObject({
  http: z
    .strictObject({
      url: httpUrl('the root of an API like Frankfurter’s').or(
        callback<Exclude<HttpRatesOptions['url'], string>>(),
      ),
      read: callback<NonNullable<HttpRatesOptions['read']>>().optional(),
      name: z.string().min(1).optional(),
      headers: z.record(z.string(), z.string()).optional(),
      timeoutMs: z.int().positive().optional(),
      maxAgeSeconds: seconds,
      freshSeconds: seconds,
      staleSeconds: seconds,
    } satisfies FieldsOf<HttpRatesEntry>)
    .transform(omitUndefined),
})

interface Context {
  readonly options: GatewayOptions
  /** Names of tokens that rates may be about, beside the currencies. */
  readonly symbols: readonly string[]
  readonly path: string
  readonly report: Report
}

/**
 * Makes the source of rates that options describe.
 *
 * @param assets - All tokens of the gateway.
 */
export function resolveRates(
  options: GatewayOptions,
  assets: readonly Asset[],
  report: Report,
): RateSource {
  const { rates } = options
  const symbols = assets.flatMap(namesInRates)
  if (rates === undefined && symbols.length > 0)
    report(
      'rates',
      'missing_option',
      `is missing: something must tell the rate of ${symbols.join(', ')}`,
    )
  const resolve = (source: unknown, path: string): RateSource =>
    resolveSource(source, { options, symbols, path, report })
  if (!Array.isArray(rates)) return resolve(rates ?? {}, 'rates')
  return firstOf(...rates.map((source: unknown, index) => resolve(source, `rates.${index}`)))
}

/** Symbols a token needs in `rates`. Empty for pegged tokens without a depeg guard. */
function namesInRates({ symbol, currency, rateSymbol, depegGuardBps }: Asset): readonly string[] {
  if (currency === undefined) return rateSymbol === undefined ? [] : [rateSymbol]
  return depegGuardBps === undefined ? [] : [rateSymbol ?? symbol]
}

/** Takes the place of a source that was reported as wrong. */
const NONE = fixedRates({})

function resolveSource(source: unknown, context: Context): RateSource {
  const { report, path } = context
  if (hasMethod(source, 'getRate')) return source as RateSource
  if (isObject(source) && isObject(source['http'])) return resolveHttp(source, context)
  if (isObject(source)) return resolveFixed(source, context)
  // The schema of all options has reported `rates` as a whole already.
  if (path !== 'rates') report(path, 'invalid_type', 'must be rates by pair, or a source of rates')
  return NONE
}

function resolveHttp(source: unknown, context: Context): RateSource {
  const { report, path, options } = context
  const entry = readOption(httpRatesSchema, source, within(report, path))
  if (entry === undefined) return NONE
  return attempt(context, () => httpRates({ ...entry.http, ...clockOf(options) }))
}

function resolveFixed(source: Readonly<Record<string, unknown>>, context: Context): RateSource {
  const settings = { symbols: context.symbols, ...clockOf(context.options) }
  // A rate that is not a string is refused like an unreadable one.
  const rates = Object.entries(source).map(
    ([pair, rate]) => [pair, typeof rate === 'string' ? rate : ''] as const,
  )
  // Each pair by itself, so that every mistake is reported.
  const sound = rates.filter(
    ([pair, rate]) => attempt(context, () => fixedRates({ [pair]: rate }, settings)) !== NONE,
  )
  return fixedRates(Object.fromEntries(sound), settings)
}

function clockOf({ now }: GatewayOptions): { readonly now?: () => number } {
  return now === undefined ? {} : { now }
}

/** Reports what a source refuses under the path it has in the options. */
function attempt({ path, report }: Context, make: () => RateSource): RateSource {
  try {
    return make()
  } catch (error) {
    if (!isConfigError(error)) throw error
    for (const { option, code, message } of error.issues)
      report(option.replace(/^rates/, path), code, message)
    return NONE
  }
}
