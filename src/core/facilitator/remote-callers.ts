import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { FacilitatorError } from '../../shared/errors.js'
import { findNetwork, type Network } from '../../shared/protocol/networks.js'
import { isHexAddress } from '../../shared/protocol/primitives.js'
import { UPTO, type Address, type SupportedResponse } from '../../shared/protocol/payment.js'
import { settlesOn, type Facilitator, type OnNetworks } from './facilitator.js'

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

/** A facilitator elsewhere, and who makes the calls of the metered payments that it settles. */
export interface CallersElsewhere extends OnNetworks {
  readonly callers: RemoteCallers
}

/** The callers of all facilitators elsewhere. */
export class NetworkCallers {
  readonly #elsewhere: readonly CallersElsewhere[]

  constructor(elsewhere: readonly CallersElsewhere[]) {
    this.#elsewhere = elsewhere
  }

  /** Those on a network; `undefined` where this process settles. */
  on({ caip2 }: Network): RemoteCallers | undefined {
    return this.#elsewhere.find((one) => settlesOn(one, caip2))?.callers
  }

  /**
   * Learns the callers on some networks, as {@link RemoteCallers.learn}. Where one is known, the others are not
   * waited for: their facilitators may be gone.
   *
   * @throws {@link FacilitatorError} where none is known.
   */
  async learn(networks: readonly Network[]): Promise<void> {
    const asked = networks.map(async (network) => this.on(network)?.learn())
    await Promise.any(asked).catch(({ errors }: AggregateError) => {
      throw errors[0]
    })
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
