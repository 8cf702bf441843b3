import { hasShape, isObject, within, type Report } from './report.js'
import { localNetworkSchema, remoteNetworkSchema } from './schemas.js'
import type { AssetOptions, GatewayOptions, KnownAssetOptions, NetworkOptions } from './options.js'
import { findKnownAsset, knownAssets, type Asset } from '../money/assets.js'
import { findNetwork, sameNetwork, type Network } from '../protocol/networks.js'
import type { Address, Hex } from '../protocol/payment.js'

/** A network with everything resolved. */
export interface ResolvedNetwork {
  readonly network: Network
  readonly assets: readonly Asset[]
  /** Absent with a remote facilitator. */
  readonly core?: ResolvedCore | undefined
}

/** What settling on a network takes. */
interface ResolvedCore {
  readonly rpcUrl: string
  readonly relayerKeys: readonly Hex[]
  /** In wei. */
  readonly maxFeePerGas?: bigint
  readonly stuckMs?: number
  readonly acceptContractPayers?: boolean | undefined
}

const WEI_PER_GWEI = 1e9

/** Reads the networks of a gateway's options, and the tokens that are taken on each. */
export function resolveNetworks(
  options: GatewayOptions,
  report: Report,
): readonly ResolvedNetwork[] {
  const networks = (isObject(options.networks) && options.networks) || {}
  const schema = options.facilitator === undefined ? localNetworkSchema : remoteNetworkSchema
  return Object.entries(networks).flatMap(([id, settings], index, all) => {
    const reportHere = within(report, `networks.${nameOrPlaceholder(id)}`)
    const isSound = hasShape(schema, settings, reportHere)
    const network = findNetwork(id)
    if (network === undefined)
      reportHere('', "names no network; write a short name like 'base', or 'eip155:<chain id>'")
    if (all.slice(0, index).some(([earlier]) => sameNetwork(earlier, id)))
      reportHere('', 'is there already, under its other name')
    if (!isSound || network === undefined) return []

    const assets = resolveAssets(settings.assets, network, reportHere)
    const { rpcUrl, relayerKeys, acceptContractPayers } = settings
    const isLocal = rpcUrl !== undefined && relayerKeys !== undefined
    const core = isLocal
      ? {
          ...{ rpcUrl, relayerKeys: relayerKeys as readonly Hex[], ...gasOptions(settings) },
          ...(acceptContractPayers !== undefined && { acceptContractPayers }),
        }
      : undefined
    return [{ network, assets, core }]
  })
}

function gasOptions({ maxFeePerGasGwei, replaceAfterSeconds }: NetworkOptions) {
  return {
    ...(maxFeePerGasGwei !== undefined && {
      maxFeePerGas: BigInt(Math.round(maxFeePerGasGwei * WEI_PER_GWEI)),
    }),
    ...(replaceAfterSeconds !== undefined && { stuckMs: replaceAfterSeconds * 1000 }),
  }
}

/** A name as it stands; not what is too long or too odd for one, such as a URL or a key. */
function nameOrPlaceholder(id: string): string {
  return /^[\w:-]{0,40}$/.test(id) ? id : '(not a name)'
}

function resolveAssets(
  listed: NetworkOptions['assets'] = ['USDC'],
  network: Network,
  report: Report,
): readonly Asset[] {
  const taken = new Set<string>()
  return listed.flatMap((one, index) => {
    const reportHere = within(report, `assets.${index}`)
    const asset = resolveAsset(one, network, reportHere)
    if (asset === undefined) return []
    const address = asset.address.toLowerCase()
    if (taken.has(address)) reportHere('', 'is there already')
    taken.add(address)
    return [asset]
  })
}

function resolveAsset(
  listed: string | KnownAssetOptions | AssetOptions,
  network: Network,
  report: Report,
): Asset | undefined {
  if (typeof listed === 'object' && 'address' in listed)
    return { ...listed, network, address: listed.address as Address }
  const { asset, ...settings } = typeof listed === 'string' ? { asset: listed } : listed
  const known = findKnownAsset(network, asset)
  if (known !== undefined) return { ...known, ...settings }
  report('', explainUnknownAsset(asset, network))
  return undefined
}

function explainUnknownAsset(asset: string, network: Network): string {
  const names = knownAssets(network).map(({ symbol }) => symbol)
  const have = names.length > 0 ? `known there: ${names.join(', ')}` : 'none is known there'
  return `'${asset}' is not a known token on ${network.name} (${have}); describe it with address, symbol, decimals, currency and eip712`
}
