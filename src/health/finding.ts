/** What a check of the gateway's surroundings has found. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isOutsideFailure, type GatewayErrorCode } from '../errors.js'

/** What a finding is about. */
export type FindingSubject =
  'gateway' | 'ledger' | 'network' | 'relayer' | 'token' | 'project' | 'rate' | 'facilitator'

/**
 * What was found; `ok` where all is well, and the code of the error where something failed.
 *
 * `timeout`: no result came in time. `block_stale`: the node's latest block is old. `clock_skewed`: the
 * latest block is from the future, by this machine's clock. `relayer_low`: the balance pays for few
 * more settlements. `nonce_gap`: a transaction waits for an account nonce that has none.
 * `transactions_stuck`: transactions are not mined for long. `foreign_transactions`: the account has
 * pending transactions that are not the gateway's. `relayer_delegated`: it is an EIP-7702 account, of
 * which nodes take few pending transactions. `token_missing`: no such contract.
 * `token_domain_mismatch`: the contract has another EIP-712 domain. `token_domain_unknown`: it does
 * not tell its domain. `token_decimals_mismatch`: it counts in other units. `merchant_missing`: the
 * project has tokens, but nobody who is paid. `header_too_large`: proxies or clients refuse the header of
 * its 402s unless they are told otherwise. `network_unsupported`: the facilitator does not settle
 * on that network. `check_failed`: something threw that is no error of this package.
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
  | 'token_missing'
  | 'token_domain_mismatch'
  | 'token_domain_unknown'
  | 'token_decimals_mismatch'
  | 'merchant_missing'
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
  /** What it is about. */
  readonly subject: FindingSubject
  /** `warning`: payments work, but somebody should look. `error`: some payments do not work. */
  readonly status: 'ok' | 'warning' | 'error'
  /** Stable, machine-readable name of what was found. */
  readonly code: FindingCode
  /** What was found and what to do, for people. */
  readonly message: string
  /** What the failure beneath says, where there is one. */
  readonly cause?: string
  /** The network (CAIP-2). */
  readonly network?: string
  /** The relayer's account, or the token's contract. */
  readonly address?: string
  /** The token's symbol. */
  readonly symbol?: string
  /** The project's id. */
  readonly project?: string
  /** What a relayer has, in wei, decimal. */
  readonly balance?: string
  /** About how many settlements the balance pays for at the present price of gas. */
  readonly settlements?: number
  /** Transactions of a relayer that are not mined. */
  readonly pending?: number
  /** Bytes of the `PAYMENT-REQUIRED` header of a project's 402s: of the largest one that is known. */
  readonly headerBytes?: number
  /** Number of the latest block. */
  readonly block?: number
  /** Age of the latest block in seconds. */
  readonly blockAgeSeconds?: number
}

/** Milliseconds that one check may take. */
const CHECK_MS = 5000

/** Where a finding belongs, whatever it is. */
export type Place = Pick<Finding, 'subject' | 'network' | 'address' | 'symbol' | 'project'>

/** Makes a finding that all is well. */
export function fine(place: Place, message: string, details: Partial<Finding> = {}): Finding {
  return { ...place, ...details, status: 'ok', code: 'ok', message }
}

/**
 * Runs a check. What it throws becomes a finding, and so does a result that does not come in time.
 *
 * @param place - What is checked.
 * @param work - Must not be trusted to end.
 * @param limitMs - Milliseconds it may take.
 */
export async function findings(
  place: Place,
  work: () => Promise<readonly Finding[]>,
  limitMs = CHECK_MS,
): Promise<readonly Finding[]> {
  const done = new AbortController()
  const late = sleep(limitMs, undefined, { signal: done.signal }).then(() => [
    failed(place, { code: 'timeout', message: `did not answer within ${limitMs / 1000} s.` }),
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

/** Makes a finding of a failure. */
export function failed(
  place: Place,
  found: Pick<Finding, 'code' | 'message'> & Partial<Finding>,
): Finding {
  return { ...place, status: 'error', ...found }
}

/** Describes an error. The words of errors that are not ours may contain a URL: their name must do. */
function describeFailure(error: unknown): Pick<Finding, 'code' | 'message' | 'cause'> {
  if (!isOutsideFailure(error)) {
    const name = error instanceof Error ? error.name : 'unknown failure'
    return { code: 'check_failed', message: `failed (${name}).` }
  }
  const { code, message, cause } = error
  return { code, message, ...(cause instanceof Error && { cause: cause.message }) }
}
