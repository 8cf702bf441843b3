/** Answers that the app gives away, although a payment was presented for them. */
import type { Response } from 'express'
import { ConfigError } from '../../shared/errors.js'
import type { Counters } from '../../ledger/counters.js'
import type { HeldResponse } from '../hold/held-response.js'
import type { ProtectOptions } from '../route/options.js'
import type { PaidRequest } from './paid-request.js'

/** Counted in place of a reason that is no short name, or that is one too many. */
const OTHER_REASON = 'other'

/** Counted where `waive()` was given no reason. */
const NO_REASON = 'handler'

/** Counted where the route's `chargeIf` said no. */
const CHARGE_IF = 'charge_if'

/** A reason that can be a label: nothing else reaches the counters. */
const LABEL = /^[a-z][a-z0-9_]{0,39}$/

/** Reasons that a gateway counts apart: an app may make them of its clients' words. */
const MAX_LABELS = 32

export interface Waiver {
  readonly waive: PaidRequest['waive']
  /** The handler's reason, as it is counted; `undefined` if it has not waived the payment. */
  readonly reason: string | undefined
}

/** @param res - Ends once nothing can be decided any more. */
export function openWaiver(res: Pick<Response, 'writableEnded'>): Waiver {
  let given: string | undefined
  return {
    waive(reason = NO_REASON) {
      if (res.writableEnded)
        throw new ConfigError(
          'waive',
          'the response has ended, and with it the time to decide: call waive() before res.json(), res.send() or res.end()',
          'waived_too_late',
        )
      given ??= reason
    },
    get reason() {
      return given
    },
  }
}

/** The `waive` of a payment that is settled before its handler runs. @throws `ConfigError` */
export function refuseWaiver(): never {
  throw new ConfigError(
    'waive',
    "the payment is settled already: only paymentFlow: 'authorization' can give an answer away",
    'conflicting_options',
  )
}

/** Counts waived payments, by project and reason. An app that passes many reasons cannot add labels without end. */
export class WaivedCounter {
  readonly #counters: Counters
  readonly #labels = new Set([OTHER_REASON, NO_REASON, CHARGE_IF])

  constructor(counters: Counters) {
    this.#counters = counters
  }

  count(project: string, reason: string): void {
    this.#counters.count(project, 'waived', this.#labelOf(reason))
  }

  #labelOf(reason: unknown): string {
    if (typeof reason !== 'string' || !LABEL.test(reason)) return OTHER_REASON
    if (!this.#labels.has(reason) && this.#labels.size >= MAX_LABELS) return OTHER_REASON
    this.#labels.add(reason)
    return reason
  }
}

/** An answer that could be charged for, and what the app says of it. */
interface Judged {
  readonly held: HeldResponse
  readonly res: Response
  readonly waiver: Waiver
  readonly chargeIf: ProtectOptions['chargeIf']
}

/**
 * Why a complete answer is free; `undefined` if it is charged for.
 *
 * @throws `ConfigError` if `chargeIf` returns anything but a boolean; and any error of `chargeIf`.
 */
export function whyFree({ held, res, waiver, chargeIf }: Judged): string | undefined {
  if (waiver.reason !== undefined) return waiver.reason
  if (chargeIf === undefined) return undefined
  const charges: unknown = chargeIf(res, held.body)
  if (typeof charges === 'boolean') return charges ? undefined : CHARGE_IF
  throw new ConfigError('chargeIf', 'must return true or false, and no promise', 'invalid_type')
}
