import { isFacilitatorError } from '../../shared/errors.js'
import type { Logger } from '../../shared/logger.js'
import type { LedgerEntry, LedgerStore } from '../../ledger/index.js'
import { isRefundEntry } from '../../ledger/refunds.js'
import type { ListedTurn, Listing } from '../schemes/evm/settle/listed-payment.js'
import type { VerifiedPayment } from '../schemes/evm/verify/verify.js'
import { sameHex } from '../../shared/protocol/hex.js'
import { EXACT } from '../../shared/protocol/payment.js'
import type { Facilitator } from './facilitator.js'
import { isUnsentElsewhere } from './http/results.js'
import { RemoteLog } from './remote-log.js'
import { termsOf } from './remote-payment.js'
import { requestOf } from './remote-request.js'

/** Payments that pass a facilitator by after it has not settled one: doubled each time in a row. */
const PASSED_BY = { first: 10, most: 1000 }

/** Routes that are counted by themselves: where a router's pattern cannot be read, buyers choose the names. */
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
 * The ledger counts, for all gateways together. What a facilitator fails to settle is sent from here, and it is its
 * turn again a little later. It gets fixed prices by ERC-3009 alone: whoever sends those, the merchant is paid.
 */
export class ShareListing implements Listing {
  readonly #context: ShareContext
  readonly #log: RemoteLog
  /** Payments that still pass it by. */
  #passing = 0
  #failures = 0
  readonly #routes = new Set<string>()

  constructor(context: ShareContext) {
    this.#context = context
    this.#log = new RemoteLog(context.logger)
  }

  async takeTurn(verified: VerifiedPayment): Promise<ListedTurn | undefined> {
    const { ledger, logger, network, oneIn } = this.#context
    const { entry } = verified
    const route = entry.details?.route
    if (route === undefined || !isForAnybody(entry)) return undefined
    if (this.#routes.size < MOST_ROUTES) this.#routes.add(route)
    const name = `${network} ${this.#routes.has(route) ? route : 'other routes'}`
    const mayTake = this.#passing === 0
    if (!mayTake) this.#passing--
    const isTurn = await ledger.turns.take(name, oneIn, mayTake).catch((error: unknown) => {
      logger.warn('A payment was not counted for the facilitator that has a share.', { error })
      return false
    })
    return isTurn ? this.#turn(verified, name) : undefined
  }

  #turn({ payment, terms }: VerifiedPayment, name: string): ListedTurn {
    const { facilitator, ledger, logger, oneIn } = this.#context
    return {
      askToSettle: async () => {
        const { payload, requirements } = requestOf({ payment, terms })
        try {
          const answer = await facilitator.settle(payload, requirements, terms ?? termsOf(payment))
          if (answer.success) return 'perhaps_sent'
          const { errorReason, errorMessage } = answer
          if (!isUnsentElsewhere(errorReason)) {
            this.#log.undecided(errorReason, errorMessage)
            return 'perhaps_sent'
          }
          this.#log.refusalOf('settle', errorReason, errorMessage)
          return 'unsent'
        } catch (error) {
          this.#log.undecided('unexpected_settle_error', Object(error).message)
          return isFacilitatorError(error) && error.isUnsent ? 'unsent' : 'perhaps_sent'
        }
      },
      end: (how) => {
        // Turns that are missed at the same time are one failure.
        if (how === 'missed' && this.#passing === 0)
          this.#passing = Math.min(PASSED_BY.first * 2 ** this.#failures++, PASSED_BY.most)
        if (how === 'paid') {
          this.#failures = 0
          return
        }
        ledger.turns.giveBack(name, oneIn).catch((error: unknown) => {
          logger.warn('The share of a facilitator was not counted.', { error })
        })
      },
    }
  }
}

/** Whether it pays the merchant whoever sends it. */
const isForAnybody = (entry: LedgerEntry): boolean =>
  entry.scheme === EXACT && sameHex(entry.contract, entry.asset) && !isRefundEntry(entry)
