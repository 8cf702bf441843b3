/**
 * The error classes.
 *
 * Three kinds of failure are never mixed. The developer is wrong: {@link ConfigError}. A payment is
 * refused: no error, but a returned value with a reason of `protocol/reasons.ts`. Something outside
 * failed (a node, a database, an API): one of the other classes, with a stable `code`. No message and no
 * `cause` contains a key, a token or an RPC URL.
 */

import { documentationOf } from './protocol/error-codes.js'
import type {
  ChainErrorCode,
  ChargeErrorCode,
  ConfigErrorCode,
  FacilitatorErrorCode,
  GatewayErrorCode,
  LedgerErrorCode,
  RateErrorCode,
  RelayerErrorCode,
} from './protocol/error-codes.js'

export type * from './protocol/error-codes.js'

/** One wrong or missing option. */
export interface ConfigIssue {
  /** Path of the option or name of the environment variable, e.g. `networks.base.rpcUrl`. */
  readonly option: string
  /** Stable, machine-readable name of the mistake. */
  readonly code: ConfigErrorCode
  /** The mistake, and what to write instead. */
  readonly message: string
}

/**
 * Base of every error that this package throws.
 *
 * Compare `code` instead of using `instanceof`: where an app loads the package twice (ESM and
 * CommonJS), each copy has classes of its own.
 *
 * @example
 * ```ts
 * import type { GatewayErrorCode } from 'express-x402-gateway'
 *
 * function mayRetry(error: Error & { readonly code?: GatewayErrorCode }): boolean {
 *   switch (error.code) {
 *     case 'chain_unreachable':
 *     case 'rate_unavailable':
 *     case 'ledger_unavailable':
 *       return true
 *     default:
 *       return false
 *   }
 * }
 * ```
 */
export abstract class GatewayError<Code extends GatewayErrorCode = GatewayErrorCode> extends Error {
  /**
   * @param code - Stable, machine-readable name of the failure.
   * @param message - Description for people, without secrets.
   * @param options - `cause`: the underlying error, if it contains no secret either.
   */
  constructor(
    /** Stable, machine-readable name of the failure. */
    readonly code: Code,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }

  /** URL of the documentation of the code and its remedy. */
  get documentation(): string {
    return documentationOf(this.code)
  }
}

/**
 * An option, environment variable or price that cannot work.
 *
 * Thrown when a gateway, route or rate source is declared. During a request it is passed to
 * `next(error)`, and only for values that exist only then: the result of a price function or of
 * `quoteFor`, or an answer beyond `maxHeldBytes`.
 *
 * @example
 * ```ts
 * import { ConfigError, createGateway } from 'express-x402-gateway'
 *
 * try {
 *   createGateway({ networks: { base: { rpcUrl: 'base.example' } } })
 * } catch (error) {
 *   if (!(error instanceof ConfigError)) throw error
 *   for (const { option, code, message } of error.issues) console.error(option, code, message)
 * }
 * ```
 */
export class ConfigError extends GatewayError<'config_invalid'> {
  /** Name of the class. */
  override readonly name = 'ConfigError'
  /** All mistakes, not only the first. */
  declare readonly issues: readonly ConfigIssue[]
  /** The first wrong option. */
  declare readonly option: string

  /** Reports one wrong option, by its path. @defaultValue `code` is `'invalid_value'` */
  constructor(option: string, message: string, code?: ConfigErrorCode)
  /** Reports several wrong options at once. */
  constructor(issues: readonly ConfigIssue[])
  constructor(
    optionOrIssues: string | readonly ConfigIssue[],
    message = '',
    code: ConfigErrorCode = 'invalid_value',
  ) {
    const issues =
      typeof optionOrIssues === 'string'
        ? [{ option: optionOrIssues, code, message }]
        : optionOrIssues
    super('config_invalid', describeIssues(issues))
    // Not enumerable: Node would print each mistake a second time, below the message.
    Object.defineProperties(this, {
      issues: { value: issues },
      option: { value: issues[0]?.option ?? '' },
    })
  }

  /** URL of the documentation of the first mistake and its remedy. */
  override get documentation(): string {
    return documentationOf(this.issues[0]?.code ?? this.code)
  }
}

/** How many links the message of a {@link ConfigError} may end with. */
const MAX_LINKS = 3

function describeIssues(issues: readonly ConfigIssue[]): string {
  const codes = [...new Set(issues.map(({ code }) => code))].slice(0, MAX_LINKS)
  return [
    ...issues.map(({ option, message }) => `${option}: ${message}`),
    ...codes.map((code) => `See ${documentationOf(code)}`),
  ].join('\n')
}

/** The node could not be reached, or its answer is unusable. Codes: {@link ChainErrorCode}. */
export class ChainError extends GatewayError<ChainErrorCode> {
  /** Name of the class. */
  override readonly name = 'ChainError'
}

/** A fiat amount cannot be converted into token units. Codes: {@link RateErrorCode}. */
export class RateError extends GatewayError<RateErrorCode> {
  /** Name of the class. */
  override readonly name = 'RateError'
}

/**
 * The ledger could not be read or written, so the action was not carried out. Codes:
 * {@link LedgerErrorCode}.
 */
export class LedgerError extends GatewayError<LedgerErrorCode> {
  /** Name of the class. */
  override readonly name = 'LedgerError'
}

/** No relayer can send a transaction now; none was sent. Codes: {@link RelayerErrorCode}. */
export class RelayerError extends GatewayError<RelayerErrorCode> {
  /** Name of the class. */
  override readonly name = 'RelayerError'
}

/**
 * A remote facilitator could not be reached, or refused to answer. Codes:
 * {@link FacilitatorErrorCode}.
 */
export class FacilitatorError extends GatewayError<FacilitatorErrorCode> {
  /** Name of the class. */
  override readonly name = 'FacilitatorError'
  /** Whether certainly no transaction was sent for the payment. */
  readonly isUnsent: boolean
  /** When the facilitator may be asked again (s), if it said so. */
  readonly retryAfterSeconds: number | undefined

  /**
   * @param code - Stable, machine-readable name of the failure.
   * @param message - Description for people, without secrets.
   * @param options - `cause`: the facilitator's own message, if any.
   */
  constructor(
    code: FacilitatorErrorCode,
    message: string,
    options: ErrorOptions & {
      readonly isUnsent?: boolean
      readonly retryAfterSeconds?: number | undefined
    } = {},
  ) {
    super(code, message, options)
    this.isUnsent = options.isUnsent ?? false
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/**
 * A charge that cannot be added to those of a request (`charge` of `PaidRequest`). Nothing was sent for it; if the
 * handler lets it pass, the response is an error, and nothing is charged at all. Codes: {@link ChargeErrorCode}.
 *
 * @example
 * ```ts
 * import { ChargeError, type PaidRequest } from 'express-x402-gateway'
 *
 * function mayGoOn({ charge }: PaidRequest): boolean {
 *   try {
 *     charge('$0.01')
 *     return true
 *   } catch (error) {
 *     if (error instanceof ChargeError && error.code === 'charge_exceeds_maximum') return false
 *     throw error
 *   }
 * }
 * ```
 */
export class ChargeError extends GatewayError<ChargeErrorCode> {
  /** Name of the class. */
  override readonly name = 'ChargeError'
}

/**
 * A hook of the app (`beforeVerify`, `beforeSettle`) threw, was late, or returned what it must not. Nothing was sent.
 * Code: `hook_failed`.
 */
export class HookError extends GatewayError<'hook_failed'> {
  /** Name of the class. */
  override readonly name = 'HookError'
}

/** A failure outside: no payment is invalid, and no option is wrong. */
export type OutsideFailure =
  ChainError | RateError | LedgerError | RelayerError | FacilitatorError | HookError

type AnyError = ConfigError | ChargeError | OutsideFailure

/** The class that a code belongs to. */
const CLASS_OF_CODE = {
  config_invalid: 'ConfigError',
  chain_unreachable: 'ChainError',
  chain_refused: 'ChainError',
  chain_mismatch: 'ChainError',
  settlement_timeout: 'ChainError',
  rate_unavailable: 'RateError',
  unsupported_currency: 'RateError',
  amount_out_of_range: 'RateError',
  ledger_unavailable: 'LedgerError',
  ledger_full: 'LedgerError',
  relayer_without_funds: 'RelayerError',
  gas_price_too_high: 'RelayerError',
  facilitator_unreachable: 'FacilitatorError',
  facilitator_refused: 'FacilitatorError',
  facilitator_busy: 'FacilitatorError',
  charge_invalid: 'ChargeError',
  charge_exceeds_maximum: 'ChargeError',
  charge_too_late: 'ChargeError',
  hook_failed: 'HookError',
} as const satisfies Record<GatewayErrorCode, AnyError['name']>

const classByCode: ReadonlyMap<unknown, AnyError['name']> = new Map(Object.entries(CLASS_OF_CODE))

/** The class of an error of this package, of any copy of it; `undefined` for other errors. */
function classOf(error: unknown): AnyError['name'] | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const name = classByCode.get(error.code)
  return error.name === name ? name : undefined
}

/** Type guard for `ConfigError`, of any copy of this package. */
export const isConfigError = (error: unknown): error is ConfigError =>
  classOf(error) === 'ConfigError'

/** Type guard for `LedgerError`, of any copy of this package. */
export const isLedgerError = (error: unknown): error is LedgerError =>
  classOf(error) === 'LedgerError'

/** Type guard for `RateError`, of any copy of this package. */
export const isRateError = (error: unknown): error is RateError => classOf(error) === 'RateError'

/** Type guard for `FacilitatorError`, of any copy of this package. */
export const isFacilitatorError = (error: unknown): error is FacilitatorError =>
  classOf(error) === 'FacilitatorError'

/** Type guard for {@link OutsideFailure}: tells failures outside from bugs and wrong options. */
export function isOutsideFailure(error: unknown): error is OutsideFailure {
  const name = classOf(error)
  return name !== undefined && name !== 'ConfigError' && name !== 'ChargeError'
}

/** When to try again (s), if the failed service said so. */
export const retryAfterOf = (error: OutsideFailure): number | undefined =>
  isFacilitatorError(error) ? error.retryAfterSeconds : undefined
