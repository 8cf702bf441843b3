/**
 * Messages to clients about outside failures.
 *
 * The error's own message is for the log: it tells the operator what to do, which a buyer's program must
 * not take for its own task.
 */
import { isRateError, type OutsideFailure } from '../errors.js'
import type { Face } from './problem-status.js'

type FailureCode = OutsideFailure['code']

/** Nothing is lost. */
const AGAIN: Readonly<Record<Face, string>> = {
  route: 'Present the same payment again later.',
  api: 'Send the same request again later.',
}

const UNSETTLED = 'cannot settle payments right now. Try again later.'

export function failureWords(failure: OutsideFailure, face: Face): string {
  // API clients chose the currency, token or amount and can choose another.
  if (face === 'api' && isRateError(failure)) return failure.message
  return `${face === 'route' ? 'The seller' : 'The gateway'} ${wordsOf(failure.code, AGAIN[face])}`
}

function wordsOf(code: FailureCode, again: string): string {
  switch (code) {
    case 'relayer_without_funds':
    case 'gas_price_too_high':
      return UNSETTLED
    case 'chain_unreachable':
    case 'chain_refused':
    case 'chain_mismatch':
      return `cannot reach the network of this payment right now. ${again}`
    case 'settlement_timeout':
      return `could not send the payment in time; nothing was sent. ${again}`
    case 'facilitator_unreachable':
    case 'facilitator_refused':
    case 'facilitator_busy':
    case 'ledger_unavailable':
    case 'ledger_full':
    case 'hook_failed':
      return `cannot take payments right now. ${again}`
    case 'rate_unavailable':
    case 'unsupported_currency':
    case 'amount_out_of_range':
      return 'cannot say right now what this costs. Try again later.'
  }
}
