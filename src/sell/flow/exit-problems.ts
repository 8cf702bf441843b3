/** Exits that say what is wrong, whatever carries the call. */
import { retryAfterOf } from '../../shared/errors.js'
import { failureWords } from '../../shared/http/failure-words.js'
import { SHUTTING_DOWN, type Problem } from '../../shared/http/respond-problem.js'
import type { Exit } from './exits.js'

const PROBLEMS = {
  settlement_pending: {
    code: 'settlement_pending',
    detail:
      'The payment was accepted, and is not known to be mined yet. It is sent until it is mined or its authorization lapses. Present the same payment again; do not sign another.',
  },
  busy: {
    code: 'idempotency_in_progress',
    detail: 'The first request with this payment is not answered yet: present it again later.',
  },
  conflict: {
    code: 'idempotency_conflict',
    detail: 'Another payment has this payment-identifier: take a new id for a new payment.',
  },
  server_busy: {
    code: 'server_busy',
    detail:
      'Too many answers wait for their payments at this moment; nothing was charged. Present the same payment again later.',
  },
  too_large: {
    code: 'answer_too_large',
    detail:
      'The answer is too large for the seller to hold until it is paid; nothing was charged. Only the seller can change that.',
  },
  shutting_down: SHUTTING_DOWN,
  merchant_paused: {
    code: 'merchant_paused',
    detail: 'The seller takes no payments for now; nothing was charged. Try again later.',
    // It ends by hand: nobody should ask every few seconds.
    retryAfterSeconds: 60,
  },
  nobody_paid: {
    code: 'merchant_not_configured',
    detail: 'Nobody can be paid for this resource at present; nothing was charged.',
  },
} as const satisfies { readonly [Kind in Exit['kind']]?: Problem }

type ProblemExit = Extract<Exit, { kind: keyof typeof PROBLEMS | 'outside_failure' }>

export function problemOf(exit: ProblemExit): Problem {
  if (exit.kind !== 'outside_failure') return PROBLEMS[exit.kind]
  const { failure } = exit
  const detail = failureWords(failure, 'route')
  return { code: failure.code, detail, retryAfterSeconds: retryAfterOf(failure) }
}
