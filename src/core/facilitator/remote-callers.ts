import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { FacilitatorError } from '../../shared/errors.js'
import { findNetwork, type Network } from '../../shared/protocol/networks.js'
import { isHexAddress } from '../../shared/protocol/primitives.js'
import { UPTO, type Address, type SupportedResponse } from '../../shared/protocol/payment.js'
import type { Facilitator } from './facilitator.js'

/** Lifetime of an answer (ms), and of one after which a payment was refused. */
const FRESH_MS = { usual: 60_000, doubted: 5000 }

/**
 * The callers of metered payments at a remote facilitator: the `facilitatorAddress` of offers, which payers sign.
 * The facilitator is asked (`supported`) when a metered price is first quoted, and now and then after that.
 */
export class RemoteCallers {
  readonly #facilitator: Pick<Facilitator, 'supported'>
  readonly #now: () => number
  /** By CAIP-2 id. */
  #callers: ReadonlyMap<string, Address> | undefined
  #asking: Promise<void> | undefined
  #askedAt = -Infinity
  #isDoubted = false

  /** @param now - Milliseconds since the epoch. */
  constructor(facilitator: Pick<Facilitator, 'supported'>, now: () => number) {
    this.#facilitator = facilitator
    this.#now = now
  }

  /** The caller on a network, as the facilitator named it last; none where it meters nothing. */
  find({ caip2 }: Network): Address | undefined {
    return this.#callers?.get(caip2)
  }

  /**
   * Asks the facilitator, unless it has answered lately. It is waited for only where it has never answered.
   *
   * @throws {@link FacilitatorError} where it has never answered.
   */
  async learn(): Promise<void> {
    const isFresh = this.#now() - this.#askedAt < FRESH_MS[this.#isDoubted ? 'doubted' : 'usual']
    if (isFresh && this.#callers !== undefined) return
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined))
    if (this.#callers === undefined) return this.#asking
    this.#asking.catch(() => undefined)
  }

  /** A payment to the caller that was named last was refused: it may be another one by now. */
  doubt(): void {
    this.#isDoubted = true
  }

  async #ask(): Promise<void> {
    this.#askedAt = this.#now()
    this.#isDoubted = false
    this.#callers = callersIn(await this.#facilitator.supported())
  }
}

function callersIn({ kinds }: SupportedResponse): ReadonlyMap<string, Address> {
  const callers = new Map<string, Address>()
  for (const { scheme, network, extra } of kinds) {
    const caip2 = findNetwork(network)?.caip2
    const address = extra?.['facilitatorAddress']
    if (scheme !== UPTO || caip2 === undefined || callers.has(caip2)) continue
    if (typeof address === 'string' && isHexAddress(address))
      callers.set(caip2, checksumAddress(address))
  }
  return callers
}

/** The failure of a route with a maximum whose remote facilitator meters nothing. */
export function metersNothing(networks: readonly Network[]): FacilitatorError {
  const names = networks.map(({ name }) => name).join(', ')
  return new FacilitatorError(
    'facilitator_refused',
    `The facilitator settles nothing up to a maximum (scheme upto) on ${names}: use another facilitator, or a fixed price.`,
  )
}
