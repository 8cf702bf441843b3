/** The schemes on EVM networks, and who makes the calls of metered payments. */
import { executorOf } from '../../chain/executor.js'
import { addressOfKey } from '../../../shared/crypto/address-of-key.js'
import type { Asset } from '../../../shared/money/assets.js'
import type { Network } from '../../../shared/protocol/networks.js'
import { EXACT, UPTO, type Address, type Hex } from '../../../shared/protocol/payment.js'
import type { SchemeFormats } from '../scheme.js'
import type { PermitDomains } from '../../../shared/money/permit-domains.js'
import { exactFormatWith } from './exact.js'
import { uptoFormat } from './upto.js'

interface OfferedNetwork {
  readonly network: Network
  /** Absent where payments are settled elsewhere. */
  readonly core?:
    { readonly relayerKeys: readonly Hex[]; readonly executor?: boolean | undefined } | undefined
}

/** The formats of all schemes on EVM networks, by name. Nothing is computed before it is asked for. */
export function evmFormats({
  networks,
  callers,
  permits,
}: {
  readonly networks: readonly OfferedNetwork[]
  /** The callers where remote facilitators settle. @defaultValue the relayers here */
  readonly callers?:
    | { on(network: Network): { find(network: Network): Address | undefined } | undefined }
    | undefined
  /** @defaultValue no token is known to take approvals by signature */
  readonly permits?: PermitDomains | undefined
}): SchemeFormats {
  const findPermitDomain = (asset: Asset) => permits?.find(asset)
  const known = new Map<string, Address | undefined>()
  const facilitatorOf = ({ caip2 }: Network): Address | undefined => {
    if (!known.has(caip2)) {
      const core = networks.find(({ network }) => network.caip2 === caip2)?.core
      known.set(caip2, core && chooseFacilitator(core))
    }
    return known.get(caip2)
  }
  const findCaller = (network: Network): Address | undefined => {
    const remote = callers?.on(network)
    return remote ? remote.find(network) : facilitatorOf(network)
  }
  return new Map([
    [EXACT, exactFormatWith(findPermitDomain)],
    [UPTO, uptoFormat({ facilitatorOf: findCaller, findPermitDomain })],
  ])
}

function chooseFacilitator({
  relayerKeys,
  executor,
}: NonNullable<OfferedNetwork['core']>): Address | undefined {
  const relayers = relayerKeys.map(addressOfKey)
  return facilitatorOfRelayers(relayers, executor ? executorOf(relayers) : undefined)
}

/**
 * The facilitator that offers name: the executor, which any relayer may call; without one the first relayer, which
 * then sends all metered payments, one to a transaction. It is always the same one, because official resource
 * servers ask once, and several processes share the relayers.
 */
export function facilitatorOfRelayers(
  [first]: readonly Address[],
  executor: { readonly address: Address } | undefined,
): Address | undefined {
  return executor?.address ?? first
}
