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

/** No token amount can be named for a fiat amount. */
export class RateError extends GatewayError {
  override readonly name = 'RateError'

  constructor(
    readonly code: 'rate_unavailable' | 'unsupported_currency' | 'amount_out_of_range',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** The ledger could not be read or written; whatever needed it was not done. */
export class LedgerError extends GatewayError {
  override readonly name = 'LedgerError'

  constructor(
    readonly code: 'ledger_unavailable' | 'ledger_full',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** No relayer can send a transaction now; none was sent. */
export class RelayerError extends GatewayError {
  override readonly name = 'RelayerError'

  constructor(
    readonly code: 'relayer_without_funds' | 'relayer_without_lease' | 'gas_price_too_high',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** A remote facilitator could not be asked, or refused to answer. */
export class FacilitatorError extends GatewayError {
  override readonly name = 'FacilitatorError'

  constructor(
    readonly code: 'facilitator_unreachable' | 'facilitator_refused',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** A failure of the world outside: nobody's payment and no developer's option is wrong. */
export type OutsideFailure = ChainError | RateError | LedgerError | RelayerError | FacilitatorError

/** Tells failures of the outside from bugs. */
export function isOutsideFailure(error: unknown): error is OutsideFailure {
  return (
    error instanceof ChainError ||
    error instanceof RateError ||
    error instanceof LedgerError ||
    error instanceof RelayerError ||
    error instanceof FacilitatorError
  )
}
