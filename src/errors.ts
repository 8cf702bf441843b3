/**
 * The error classes.
 *
 * Three kinds of failure are never mixed. The developer is wrong: {@link ConfigError}, thrown when
 * a gateway or a route is declared. A payment is refused: no error at all, a returned value with a
 * reason of `protocol/reasons.ts`. The world failed: one of the other classes here, thrown, each
 * with a stable `code`. No message and no `cause` ever carries a key, a token or an RPC URL.
 */

/** One wrong or missing option. */
export interface ConfigIssue {
  /** Path of the option or name of the environment variable, e.g. `networks.base.rpcUrl`. */
  readonly option: string
  /** What is wrong with it and how to mend it. */
  readonly message: string
}

/** What every error of this package has in common. */
export abstract class GatewayError extends Error {
  /** Stable, machine-readable name of what went wrong. */
  abstract readonly code: string
}

/** An option, environment variable or price that cannot work. Thrown at declaration only. */
export class ConfigError extends GatewayError {
  override readonly name = 'ConfigError'
  readonly code = 'config_invalid'
  /** Everything that is wrong, not only the first. */
  readonly issues: readonly ConfigIssue[]
  /** The first wrong option. */
  readonly option: string

  constructor(option: string, message: string)
  constructor(issues: readonly ConfigIssue[])
  constructor(optionOrIssues: string | readonly ConfigIssue[], message = '') {
    const issues =
      typeof optionOrIssues === 'string' ? [{ option: optionOrIssues, message }] : optionOrIssues
    super(issues.map((issue) => `${issue.option}: ${issue.message}`).join('\n'))
    this.issues = issues
    this.option = issues[0]?.option ?? ''
  }
}

/**
 * Why a network could not be used. `chain_unreachable`: no answer came. `chain_refused`: the node
 * refused a request, or answered something that cannot be used. `chain_mismatch`: its node is on
 * another chain. `settlement_timeout`: nothing could be sent in time, and nothing was.
 */
export type ChainErrorCode =
  'chain_unreachable' | 'chain_refused' | 'chain_mismatch' | 'settlement_timeout'

/** The network could not be asked, or answered something that cannot be used. */
export class ChainError extends GatewayError {
  override readonly name = 'ChainError'

  constructor(
    readonly code: ChainErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Why there is no token amount. */
export type RateErrorCode = 'rate_unavailable' | 'unsupported_currency' | 'amount_out_of_range'

/** No token amount can be named for a fiat amount. */
export class RateError extends GatewayError {
  override readonly name = 'RateError'

  constructor(
    readonly code: RateErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Why a ledger could not be used. */
export type LedgerErrorCode = 'ledger_unavailable' | 'ledger_full'

/** The ledger could not be read or written; whatever needed it was not done. */
export class LedgerError extends GatewayError {
  override readonly name = 'LedgerError'

  constructor(
    readonly code: LedgerErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Why no relayer can send. */
export type RelayerErrorCode =
  'relayer_without_funds' | 'relayer_without_lease' | 'gas_price_too_high'

/** No relayer can send a transaction now; none was sent. */
export class RelayerError extends GatewayError {
  override readonly name = 'RelayerError'

  constructor(
    readonly code: RelayerErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Why a remote facilitator could not be used; `facilitator_refused` also where it is not believed. */
export type FacilitatorErrorCode = 'facilitator_unreachable' | 'facilitator_refused'

/** A remote facilitator could not be asked, or refused to answer. */
export class FacilitatorError extends GatewayError {
  override readonly name = 'FacilitatorError'

  constructor(
    readonly code: FacilitatorErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** A failure of the world outside: nobody's payment and no developer's option is wrong. */
export type OutsideFailure = ChainError | RateError | LedgerError | RelayerError | FacilitatorError

/** Every `code` of an error of this package. */
export type GatewayErrorCode = ConfigError['code'] | OutsideFailure['code']

/**
 * The codes of each class. Errors are recognised by them, not by `instanceof`: where an app loads two
 * copies of this package (ESM and CommonJS), each has classes of its own.
 */
const CODES = {
  ChainError: ['chain_unreachable', 'chain_refused', 'chain_mismatch', 'settlement_timeout'],
  RateError: ['rate_unavailable', 'unsupported_currency', 'amount_out_of_range'],
  LedgerError: ['ledger_unavailable', 'ledger_full'],
  RelayerError: ['relayer_without_funds', 'relayer_without_lease', 'gas_price_too_high'],
  FacilitatorError: ['facilitator_unreachable', 'facilitator_refused'],
} as const satisfies {
  readonly [Name in OutsideFailure['name']]: readonly Extract<
    OutsideFailure,
    { name: Name }
  >['code'][]
}

function isOfClass(error: unknown, name: OutsideFailure['name']): boolean {
  if (!(error instanceof Error) || error.name !== name || !('code' in error)) return false
  const codes: readonly unknown[] = CODES[name]
  return codes.includes(error.code)
}

/** Type guard for `LedgerError`, of any copy of this package. */
export const isLedgerError = (error: unknown): error is LedgerError =>
  isOfClass(error, 'LedgerError')

/** Type guard for `RateError`, of any copy of this package. */
export const isRateError = (error: unknown): error is RateError => isOfClass(error, 'RateError')

/** Type guard for `FacilitatorError`, of any copy of this package. */
export const isFacilitatorError = (error: unknown): error is FacilitatorError =>
  isOfClass(error, 'FacilitatorError')

/** Tells failures of the outside from bugs. */
export function isOutsideFailure(error: unknown): error is OutsideFailure {
  const names = Object.keys(CODES) as OutsideFailure['name'][]
  return names.some((name) => isOfClass(error, name))
}
