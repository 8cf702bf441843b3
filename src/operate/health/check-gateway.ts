import type { Chain } from '../../core/chain/chain.js'
import { settlesOn } from '../../core/facilitator/facilitator.js'
import type { Facilitator, OnNetworks } from '../../core/facilitator/facilitator.js'
import type { LedgerStore } from '../../ledger/index.js'
import type { Merchant, Project } from '../../core/merchants/project.js'
import type { Asset } from '../../shared/money/assets.js'
import type { RateSource } from '../../shared/money/rates.js'
import { sameNetwork, type Network } from '../../shared/protocol/networks.js'
import { EXACT, type Address } from '../../shared/protocol/payment.js'
import type { RelayerPool } from '../../core/relayer/pool.js'
import { checkExecutor } from './check-executor.js'
import { checkLedger } from './check-ledger.js'
import { checkNetwork } from './check-network.js'
import { checkUpto } from './check-permit2.js'
import { checkPayees } from './check-payees.js'
import { checkProjects } from './check-projects.js'
import { checkRelayers } from './check-relayers.js'
import { checkTokens } from './check-tokens.js'
import { failed, findings, fine, type Finding, type Place } from './finding.js'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'

export interface OwnNetwork {
  readonly chain: Chain
  readonly relayers: RelayerPool
  readonly factories: ReadonlySet<Address>
}

/** A remote facilitator. */
type Asked = Pick<Facilitator, 'supported'>

export interface CheckedParts {
  readonly ledger: LedgerStore
  /** None where remote facilitators settle. */
  readonly cores: readonly OwnNetwork[]
  readonly networks: readonly { readonly network: Network; readonly assets: readonly Asset[] }[]
  readonly projects: readonly Project[]
  readonly rates: RateSource
  /** Size of the `PAYMENT-REQUIRED` header on a merchant's routes. */
  readonly headerBytesOf: (merchant: Merchant) => number
  readonly facilitators: readonly (OnNetworks & { readonly facilitator: Asked })[]
  /** Those that settle a share of what this process takes, which it could do without. */
  readonly shares: readonly { readonly facilitator: Asked; readonly network: string }[]
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Checks everything outside that a gateway depends on. Outside failures become findings. */
export async function checkGateway(parts: CheckedParts): Promise<readonly Finding[]> {
  const { ledger, cores, shares } = parts
  const sharing = shares.map(({ facilitator, network }) => ({ facilitator, networks: [network] }))
  const found = await Promise.all([
    findings({ subject: 'ledger' }, () => checkLedger(ledger)),
    ...cores.map((core) => checkCore(parts, core)),
    ...facilitatorFindings(parts),
    ...facilitatorFindings({ ...parts, facilitators: sharing }).map(asWarnings),
    checkProjects(parts),
  ])
  return found.flat()
}

const asWarnings = async (checked: Promise<readonly Finding[]>): Promise<readonly Finding[]> =>
  (await checked).map((one) => (one.status === 'error' ? { ...one, status: 'warning' } : one))

/** Checks that each remote facilitator answers, and settles on every network that is offered through it. */
export function facilitatorFindings({
  facilitators,
  networks,
}: Pick<CheckedParts, 'facilitators' | 'networks'>): readonly Promise<readonly Finding[]>[] {
  const offered = networks.map(({ network }) => network)
  return facilitators.map((one) => {
    const own = offered.filter(({ caip2 }) => settlesOn(one, caip2))
    return checkFacilitator(one.facilitator, own)
  })
}

function checkFacilitator(
  facilitator: Asked,
  networks: readonly Network[],
): Promise<readonly Finding[]> {
  const place = { subject: 'facilitator' } as const
  return findings(place, async () => {
    const { kinds } = await facilitator.supported()
    const unsupported = networks.filter(
      ({ caip2 }) =>
        !kinds.some(({ scheme, network }) => scheme === EXACT && sameNetwork(network, caip2)),
    )
    const names = networks.map(({ name }) => name).join(', ') || 'its own networks'
    if (unsupported.length === 0)
      return [fine(place, `The facilitator answers, and settles on ${names}.`)]
    return unsupported.map(({ caip2: network, name }) => {
      const message = `The facilitator does not settle on ${name}: remove the network, or use another facilitator.`
      return failed({ ...place, network }, { code: 'network_unsupported', message })
    })
  })
}

/** Checks a network, and its relayers and tokens if the node answers for the right chain. */
async function checkCore(
  { ledger, networks, projects, now }: CheckedParts,
  { chain, relayers, factories }: OwnNetwork,
): Promise<readonly Finding[]> {
  const { caip2 } = chain.network
  const place: Place = { subject: 'network', network: caip2 }
  const own = await findings(place, () => checkNetwork(chain, now()))
  if (own.some(({ code }) => code !== 'ok' && code !== 'block_stale' && code !== 'clock_skewed'))
    return own
  const assets = networks.find(({ network }) => network.caip2 === caip2)?.assets ?? []
  const rest = await Promise.all([
    checkRelayers({ chain, relayers, ledger }),
    checkExecutor(relayers, chain.network),
    checkUpto(chain, relayers),
    checkFactories(chain, factories),
    checkTokens(chain, assets),
    findings(place, () => checkPayees(chain, projects)),
  ])
  return [...own, ...rest.flat()]
}

async function checkFactories(
  chain: Pick<Chain, 'getCode' | 'network'>,
  factories: ReadonlySet<Address>,
): Promise<readonly Finding[]> {
  const { name, caip2 } = chain.network
  const found = await Promise.all(
    [...factories].map((factory) => {
      const address = checksumAddress(factory)
      const place = { subject: 'factory', network: caip2, address } as const
      return findings(place, async () => {
        if ((await chain.getCode(address)) !== '0x')
          return [fine(place, `Factory ${address} on ${name} is there.`)]
        const message = `Factory ${address} on ${name} has no code: accounts of it must be deployed before they pay. Correct its address in allowedFactories, or remove it.`
        return [{ ...place, status: 'warning', code: 'factory_missing', message }]
      })
    }),
  )
  return found.flat()
}
