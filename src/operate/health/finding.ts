/** Findings of a gateway's check. */
import { isOutsideFailure, type GatewayErrorCode } from '../../shared/errors.js'
import { world } from '../../shared/world.js'

/** Subject of a finding. */
export type FindingSubject =
  | 'gateway'
  | 'ledger'
  | 'network'
  | 'relayer'
  | 'executor'
  | 'factory'
  | 'token'
  | 'project'
  | 'rate'
  | 'facilitator'

/**
 * `ok`, the code of an error, or a problem that only a check finds.
 *
 * `timeout`: no result came in time. `block_stale`: the node's latest block is old. `clock_skewed`: the
 * latest block is from the future, by this machine's clock. `relayer_low`: the balance pays for few
 * more settlements. `nonce_gap`: a transaction waits for one with a lower account nonce, which is
 * missing. `transactions_stuck`: transactions have been pending for long. `foreign_transactions`: the
 * account has pending transactions that are not the gateway's. `relayer_delegated`: it is an EIP-7702
 * account; nodes accept few pending transactions of those. `executor_missing`: it is not deployed.
 * `executor_foreign`: another contract is at its address. `factory_missing`: an allowed factory has no code. `token_missing`: no such contract.
 * `token_domain_mismatch`: the contract has another EIP-712 domain. `token_domain_unknown`: it does
 * not expose its domain. `token_decimals_mismatch`: it has other decimals. `permit2_missing`: the network
 * lacks a contract that Permit2 payments need. `merchant_missing`: the
 * project has tokens, but no merchant. `pay_to_blacklisted`, `token_paused`: the operator of a token stops all payments
 * to a merchant. `header_too_large`: proxies or clients refuse the header of
 * its 402s by default. `network_unsupported`: the facilitator does not settle on that network.
 * `check_failed`: an unexpected error.
 */
export type FindingCode =
  | 'ok'
  | 'timeout'
  | 'block_stale'
  | 'clock_skewed'
  | 'relayer_low'
  | 'nonce_gap'
  | 'transactions_stuck'
  | 'foreign_transactions'
  | 'relayer_delegated'
  | 'executor_missing'
  | 'executor_foreign'
  | 'factory_missing'
  | 'token_missing'
  | 'token_domain_mismatch'
  | 'token_domain_unknown'
  | 'token_decimals_mismatch'
  | 'permit2_missing'
  | 'merchant_missing'
  | 'pay_to_blacklisted'
  | 'token_paused'
  | 'header_too_large'
  | 'network_unsupported'
  | 'check_failed'
  | Exclude<GatewayErrorCode, 'config_invalid'>

/**
 * One finding of `gateway.check()`. It can be written as JSON, and contains no key and no URL.
 *
 * @example
 * ```ts
 * import type { Finding, Gateway } from 'express-x402-gateway'
 *
 * async function faults(gateway: Gateway): Promise<readonly Finding[]> {
 *   const findings = await gateway.check()
 *   return findings.filter(({ status }) => status === 'error')
 * }
 * ```
 */
export interface Finding {
  /** What was checked. */
  readonly subject: FindingSubject
  /** `warning`: payments work, but need attention. `error`: some payments do not work. */
  readonly status: 'ok' | 'warning' | 'error'
  /** Stable, machine-readable name of the finding. */
  readonly code: FindingCode
  /** For people: the finding and its remedy. */
  readonly message: string
  /** Message of the underlying error, if there is one. */
  readonly cause?: string
  /** The network (CAIP-2). */
  readonly network?: string
  /** The relayer's account, or the contract of the token, executor or factory. */
  readonly address?: string
  /** The token's symbol. */
  readonly symbol?: string
  /** The project's id. */
  readonly project?: string
  /** A relayer's balance in wei, decimal. */
  readonly balance?: string
  /** About how many settlements the balance pays for at the current gas price. */
  readonly settlements?: number
  /** Number of a relayer's pending transactions. */
  readonly pending?: number
  /** Size of the largest known `PAYMENT-REQUIRED` header of a project's 402s (bytes). */
  readonly headerBytes?: number
  /** Number of the latest block. */
  readonly block?: number
  /** Age of the latest block in seconds. */
  readonly blockAgeSeconds?: number
}

const CHECK_MS = 5000

/** Subject of a finding, and which one. */
export type Place = Pick<Finding, 'subject' | 'network' | 'address' | 'symbol' | 'project'>

export function fine(place: Place, message: string, details: Partial<Finding> = {}): Finding {
  return { ...place, ...details, status: 'ok', code: 'ok', message }
}

/**
 * Runs a check. An error becomes a finding, and so does a result that comes too late.
 *
 * @param work - The check; it may never end.
 */
export async function findings(
  place: Place,
  work: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const done = new AbortController()
  const late = world
    .sleep(CHECK_MS, undefined, { signal: done.signal })
    .then(() => [
      failed(place, { code: 'timeout', message: `did not answer within ${CHECK_MS / 1000} s.` }),
    ])
  try {
    return await Promise.race([work(), late])
  } catch (error) {
    return [failed(place, describeFailure(error))]
  } finally {
    done.abort()
    await late.catch(() => undefined)
  }
}

export function failed(
  place: Place,
  found: Pick<Finding, 'code' | 'message'> & Partial<Finding>,
): Finding {
  return { ...place, status: 'error', ...found }
}

/** Describes an error. Only the name of foreign errors: their message may contain a URL. */
function describeFailure(error: unknown): Pick<Finding, 'code' | 'message' | 'cause'> {
  if (!isOutsideFailure(error)) {
    const name = error instanceof Error ? error.name : 'unknown failure'
    return { code: 'check_failed', message: `failed (${name}).` }
  }
  const { code, message, cause } = error
  return { code, message, ...(cause instanceof Error && { cause: cause.message }) }
}
