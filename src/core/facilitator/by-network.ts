/** Several facilitators, each for the payments on its networks. */
import type { Payment } from '../../shared/protocol/decoded-payment.js'
import { isFacilitatorError } from '../../shared/errors.js'
import { findNetwork } from '../../shared/protocol/networks.js'
import { settlesOn, type OnNetworks, type ReservingFacilitator } from './facilitator.js'
import { mergeSigners } from './scheme-facilitator.js'

type Settling = Pick<ReservingFacilitator, 'verifyPayment' | 'reserve' | 'supported'>

/**
 * Gives each payment to the facilitator of its network, so that none is ever given to two.
 *
 * @param others - Takes the payments on all other networks.
 */
export function byNetwork(
  named: readonly (OnNetworks & { readonly facilitator: Settling })[],
  others: Settling,
): Settling {
  const settlerOn = (caip2: string | undefined): Settling =>
    named.find((one) => caip2 !== undefined && settlesOn(one, caip2))?.facilitator ?? others
  const settlerOf = ({ network }: Payment): Settling => settlerOn(network?.caip2)
  return {
    verifyPayment: (payment, ...terms) => settlerOf(payment).verifyPayment(payment, ...terms),
    reserve: (payment, ...terms) => settlerOf(payment).reserve(payment, ...terms),
    /** Leaves out what is only settled by a facilitator that is down. @throws Its failure, if that leaves nothing. */
    async supported() {
      const failures: unknown[] = []
      const all = await Promise.all(
        [...named.map(({ facilitator }) => facilitator), others].map(async (one) => {
          const supported = await one.supported().catch((error: unknown) => {
            if (!isFacilitatorError(error)) throw error
            failures.push(error)
            return { kinds: [], extensions: [], signers: {} }
          })
          const isItsOwn = ({ network }: { readonly network: string }): boolean =>
            settlerOn(findNetwork(network)?.caip2) === one
          return { ...supported, kinds: supported.kinds.filter(isItsOwn) }
        }),
      )
      const kinds = all.flatMap((one) => one.kinds)
      if (kinds.length === 0 && failures.length > 0) throw failures[0]
      return {
        kinds,
        extensions: [...new Set(all.flatMap(({ extensions }) => extensions))],
        signers: mergeSigners(all),
      }
    },
  }
}
