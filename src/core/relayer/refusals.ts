import type { Chain } from '../chain/chain.js'
import type { Broadcast } from '../chain/types.js'
import type { Logger } from '../../shared/logger.js'
import type { Address } from '../../shared/protocol/payment.js'
import { world } from '../../shared/world.js'

/** Time between two warnings of one relayer (ms). */
const WARN_MS = 60_000

export interface RefusalsOptions {
  readonly chain: Pick<Chain, 'network'>
  readonly address: Address
  readonly logger: Logger
}

/** Warns, once a minute, that a node does not take the transactions of an account. */
export class Refusals {
  readonly #options: RefusalsOptions
  /** When it may warn again, by `world.elapsed()`. */
  #quietUntil = -Infinity

  constructor(options: RefusalsOptions) {
    this.#options = options
  }

  /** @returns The same answer. */
  report<Answer extends Broadcast>(answer: Answer): Answer {
    const { chain, address: relayer, logger } = this.#options
    if (answer.kind === 'accepted' || answer.words === undefined) return answer
    // These are answered with another transaction at once.
    if (answer.kind === 'rejected' && ['fee_too_low', 'stale_nonce'].includes(answer.cause))
      return answer
    if (world.elapsed() < this.#quietUntil) return answer
    this.#quietUntil = world.elapsed() + WARN_MS
    logger.warn('The node does not take a transaction. It is sent again.', {
      network: chain.network.caip2,
      relayer,
      node: answer.words,
    })
    return answer
  }
}

/**
 * Whether a node answered that it does not take a transaction for the moment: it may take the same bytes
 * soon. An ambiguous answer counts too.
 */
export function isForNow(answer: Broadcast): boolean {
  if (answer.kind === 'rejected') return answer.cause === 'not_now'
  return answer.kind === 'unknown' && answer.words !== undefined
}
