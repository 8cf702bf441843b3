import { isFacilitatorError } from '../../shared/errors.js'
import type { Logger } from '../../shared/logger.js'
import type { LedgerEntry, LedgerStore } from '../../ledger/index.js'
import { isRefundEntry } from '../../ledger/refunds.js'
import type { FacilitatorTurn, TurnTaker } from '../schemes/evm/settle/facilitator-turn.js'
import type { VerifiedPayment } from '../schemes/evm/verify/verify.js'
import { sameHex } from '../../shared/protocol/hex.js'
import { EXACT } from '../../shared/protocol/payment.js'
import type { Facilitator } from './facilitator.js'
import { isUnsentElsewhere, ownWords } from './http/results.js'
import { termsOf } from './remote-payment.js'
import { requestOf } from './remote-request.js'

/** How many payments skip a facilitator that has missed one: doubled with each miss in a row. */
const PASSED_BY = { first: 10, most: 1000 }

/** Routes with a count of their own. Buyers choose the names where a router's pattern cannot be read. */
const MOST_ROUTES = 1000

/** A facilitator's share of the payments on a network. */
export interface Share {
  readonly facilitator: Facilitator
  /** CAIP-2. */
  readonly network: string
  /** It settles one payment in so many. */
  readonly oneIn: number
}

interface ShareContext extends Share {
  readonly ledger: Pick<LedgerStore, 'turns'>
  readonly logger: Logger
}

/**
 * Lets a facilitator that lists what it settles settle one payment of each route in so many.
 *
 * The ledger counts, for all gateways together. What a facilitator misses is sent from here, and a later payment is
 * its turn. It gets only fixed prices paid by ERC-3009, which pay the merchant no matter who sends them.
 */
export class FacilitatorShare implements TurnTaker {
  readonly #context: ShareContext
  /** How many more payments skip the facilitator. */
  #passing = 0
  #failures = 0
  readonly #routes = new Set<string>()

  constructor(context: ShareContext) {
    this.#context = context
  }

  async takeTurn(verified: VerifiedPayment): Promise<FacilitatorTurn | undefined> {
    const { ledger, logger, network, oneIn } = this.#context
    const { entry } = verified
    const route = entry.details?.route
    if (route === undefined || !isForAnybody(entry)) return undefined
    if (this.#routes.size < MOST_ROUTES) this.#routes.add(route)
    const name = `${network} ${this.#routes.has(route) ? route : 'other routes'}`
    const mayTake = this.#passing === 0
    if (!mayTake) this.#passing--
    const isTurn = await ledger.turns.take(name, oneIn, mayTake).catch((error: unknown) => {
      logger.warn('A payment was not counted towards the share of a facilitator.', { error })
      return false
    })
    return isTurn ? this.#turn(verified, name) : undefined
  }

  #turn({ payment, terms }: VerifiedPayment, name: string): FacilitatorTurn {
    const { facilitator, ledger, logger, network, oneIn } = this.#context
    let said = 'It did not answer in time.'
    return {
      askToSettle: async () => {
        const { payload, requirements } = requestOf({ payment, terms })
        try {
          const answer = await facilitator.settle(payload, requirements, terms ?? termsOf(payment))
          if (answer.success) {
            said = 'It says that it has paid.'
            return 'perhaps_sent'
          }
          const { errorReason, errorMessage } = answer
          said = [errorReason, ownWords(errorMessage)].filter(Boolean).join(': ')
          return isUnsentElsewhere(errorReason) ? 'unsent' : 'perhaps_sent'
        } catch (error) {
          said = ownWords(Object(error).message) ?? 'It failed.'
          return isFacilitatorError(error) && error.isUnsent ? 'unsent' : 'perhaps_sent'
        }
      },
      end: (how) => {
        if (how === 'paid') return void (this.#failures = 0)
        // Turns that are missed at the same time are one failure.
        if (how === 'missed' && this.#passing === 0) {
          this.#passing = Math.min(PASSED_BY.first * 2 ** this.#failures++, PASSED_BY.most)
          logger.warn(
            'A facilitator has missed its turn: this gateway settles the payment, and the next ones, itself. If that goes on, check() tells what is wrong with the facilitator.',
            { network, facilitatorMessage: said, skipping: this.#passing },
          )
        }
        ledger.turns.giveBack(name, oneIn).catch((error: unknown) => {
          logger.warn('A turn that a facilitator missed was not given back.', { error })
        })
      },
    }
  }
}

/** Whether it pays the merchant no matter who sends it. */
const isForAnybody = (entry: LedgerEntry): boolean =>
  entry.scheme === EXACT && sameHex(entry.contract, entry.asset) && !isRefundEntry(entry)
