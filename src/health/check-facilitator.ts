import type { Facilitator } from '../facilitator/facilitator.js'
import { EXACT } from '../protocol/payment.js'
import { sameNetwork, type Network } from '../protocol/networks.js'
import { failed, fine, type Finding } from './finding.js'

/**
 * Checks that a remote facilitator answers, and settles on every network that is offered.
 *
 * @throws {@link FacilitatorError}
 */
export async function checkFacilitator(
  facilitator: Pick<Facilitator, 'supported'>,
  networks: readonly Network[],
): Promise<readonly Finding[]> {
  const { kinds } = await facilitator.supported()
  const place = { subject: 'facilitator' } as const
  const unsupported = networks.filter(
    ({ caip2 }) =>
      !kinds.some(({ scheme, network }) => scheme === EXACT && sameNetwork(network, caip2)),
  )
  if (unsupported.length === 0) {
    const names = networks.map(({ name }) => name).join(', ')
    return [fine(place, `The facilitator answers, and settles on ${names || 'its own networks'}.`)]
  }
  return unsupported.map(({ caip2: network, name }) =>
    failed(
      { ...place, network },
      {
        code: 'network_unsupported',
        message: `The facilitator does not settle on ${name}: remove the network, or use another facilitator.`,
      },
    ),
  )
}
