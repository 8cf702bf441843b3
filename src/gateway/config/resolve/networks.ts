import { z } from 'zod'
import { ACCOUNT_FACTORIES, NEVER_FACTORIES } from '../../../core/chain/account-factories.js'
import { lowerHex } from '../../../shared/protocol/hex.js'
import { findKnownAsset, knownAssets, type Asset } from '../../../shared/money/assets.js'
import { isCurrency } from '../../../shared/money/currency.js'
import { closestName } from '../../../shared/protocol/did-you-mean.js'
import {
  findNetwork,
  sameNetwork,
  UNKNOWN_NETWORK,
  type Network,
} from '../../../shared/protocol/networks.js'
import { suggestNetwork } from '../../../shared/protocol/suggest-network.js'
import { quoteName } from '../../../shared/protocol/visible-text.js'
import type { ConfigErrorCode } from '../../../shared/errors.js'
import type { Address, Hex } from '../../../shared/protocol/payment.js'
import { addressOf, currency, httpUrl, missing, mistake, privateKey } from './fields.js'
import type { FieldsOf } from './fields.js'
import type { AssetOptions, KnownAssetOptions, NetworkOptions } from '../options/network.js'
import type { GatewayOptions } from '../options.js'
import { membersOf } from '../../../shared/protocol/document.js'
import { isElsewhere } from './facilitators.js'
import { readOption, within, type Report } from './report.js'

/** A network whose names and tokens were looked up. */
export interface ResolvedNetwork {
  readonly network: Network
  readonly assets: readonly Asset[]
  /** Absent where a remote facilitator settles. */
  readonly core?: ResolvedCore | undefined
  /** Whether a remote facilitator settles though there are keys of relayers. */
  readonly hasIdleRelayers?: boolean
}

interface ResolvedCore {
  readonly rpcUrl: string
  readonly relayerKeys: readonly Hex[]
  /** In wei. */
  readonly maxFeePerGas: bigint | undefined
  /** Milliseconds without being mined after which a transaction is replaced. */
  readonly stuckMs: number | undefined
  readonly acceptContractPayers: boolean | undefined
  readonly executor: boolean | undefined
  /** Contracts that may deploy accounts of payers. */
  readonly allowedFactories: readonly Address[]
}

const WEI_PER_GWEI = 1e9
const MS_PER_SECOND = 1000

const rateSymbol = z
  .string()
  .regex(/^[A-Za-z0-9.]{1,20}$/, "must be what rates call the token, e.g. 'ETH'")
  .refine(
    (symbol) => !isCurrency(symbol),
    mistake('conflicting_options', 'is a currency: a token pegged to it has it as its `currency`'),
  )
  .optional()

const depegGuardBps = z.int().min(1).max(10_000).optional()

const assetSchema = z
  .strictObject({
    address: addressOf("the token's contract"),
    symbol: z.string().min(1, 'must not be empty'),
    decimals: z.int().min(0).max(36),
    currency: currency.optional(),
    rateSymbol,
    depegGuardBps,
    eip712: z.strictObject({ name: z.string(), version: z.string() }).optional(),
    permit2: z.boolean().optional(),
  } satisfies FieldsOf<AssetOptions>)
  .refine(({ eip712, permit2 }) => eip712 !== undefined || permit2 !== false, {
    path: ['permit2'],
    ...mistake(
      'conflicting_options',
      'must not be false: without `eip712`, Permit2 is the only way to take the token',
    ),
  })
  .refine((asset) => asset.depegGuardBps === undefined || asset.currency !== undefined, {
    path: ['depegGuardBps'],
    ...mistake('conflicting_options', 'is for tokens that are pegged: they have a `currency`'),
  })

const knownAssetSchema = z.strictObject({
  asset: z.string(),
  rateSymbol,
  depegGuardBps,
  permit2: z.boolean().optional(),
} satisfies FieldsOf<KnownAssetOptions>)

/** A token described in full, or one of our table by name, with settings. */
const listedAssetSchema = z
  .union([z.string(), assetSchema, knownAssetSchema])
  .transform((listed) => {
    if (typeof listed === 'string') return { kind: 'known' as const, name: listed, settings: {} }
    if ('address' in listed) return { kind: 'described' as const, asset: listed }
    const { asset: name, ...settings } = listed
    return { kind: 'known' as const, name, settings }
  })

type ListedAsset = z.output<typeof listedAssetSchema>

const USDC: ListedAsset = { kind: 'known', name: 'USDC', settings: {} }

/** A factory by its address, or the usual ones by name. */
const accountFactories = z.string().transform((text, context): readonly Address[] => {
  if (Object.hasOwn(ACCOUNT_FACTORIES, text))
    return ACCOUNT_FACTORIES[text as keyof typeof ACCOUNT_FACTORIES]
  if (!/^0x/i.test(text)) {
    const names = Object.keys(ACCOUNT_FACTORIES)
    const meant = closestName(text, names)
    const hint = meant === undefined ? '' : `; did you mean '${meant}'?`
    const message = `must be the address of a factory of smart accounts, or one of ${names.join(', ')}${hint}`
    context.addIssue({ code: 'custom', message, params: { code: 'invalid_value' } })
    return z.NEVER
  }
  const address = addressOf('a factory of smart accounts').safeParse(text)
  if (!address.success) {
    for (const issue of address.error.issues) context.addIssue({ ...issue })
    return z.NEVER
  }
  return [address.data]
})

const localNetworkSchema = z.strictObject({
  rpcUrl: httpUrl('the URL of a JSON-RPC node'),
  relayerKeys: z
    .array(privateKey, {
      error: missing(
        'private keys of accounts that pay the gas',
        "must be an array of private keys, like ['0x…']",
      ),
    })
    .min(1)
    .refine(
      (keys) => new Set(keys.map((key) => key.toLowerCase())).size === keys.length,
      mistake('duplicate_key', 'holds the same key twice'),
    ),
  maxFeePerGasGwei: z
    .number()
    .min(1e-9)
    .max(1e6)
    .transform((gwei) => BigInt(Math.round(gwei * WEI_PER_GWEI)))
    .optional(),
  replaceAfterSeconds: z
    .number()
    .min(1)
    .max(3600)
    .transform((seconds) => seconds * MS_PER_SECOND)
    .optional(),
  acceptContractPayers: z.boolean().optional(),
  executor: z.boolean().optional(),
  allowedFactories: z
    .array(accountFactories)
    .transform((factories) => factories.flat())
    .optional(),
  assets: z.array(listedAssetSchema).min(1).default([USDC]),
} satisfies FieldsOf<NetworkOptions>)

/** Where a remote facilitator settles, neither a node nor keys are needed here. */
const remoteNetworkSchema = localNetworkSchema.partial()

export function resolveNetworks(
  options: GatewayOptions,
  report: Report,
): readonly ResolvedNetwork[] {
  const networks = membersOf(options.networks)
  return Object.entries(networks).flatMap(([id, given], index, all) => {
    const isRemote = isElsewhere(options.facilitator, id)
    const schema = isRemote ? remoteNetworkSchema : localNetworkSchema
    const reportHere = within(report, `networks.${nameOrPlaceholder(id)}`)
    const settings = readOption(schema, given, reportHere)
    const network = findNetwork(id)
    if (network === undefined) reportHere('', ...explainUnknownNetwork(id))
    if (all.slice(0, index).some(([earlier]) => sameNetwork(earlier, id)))
      reportHere('', 'duplicate_network', 'is there already, under its other name')
    if (settings === undefined || network === undefined) return []
    const assets = resolveAssets(settings.assets, network, reportHere)
    refuseFactories(settings.allowedFactories, assets, reportHere)
    const core = coreOf(settings)
    return [{ network, assets, ...(isRemote ? { hasIdleRelayers: core !== undefined } : { core }) }]
  })
}

/** A payment must not be able to make us call what payments depend on. */
function refuseFactories(
  factories: readonly Address[] = [],
  assets: readonly Asset[],
  report: Report,
): void {
  const never = new Set([...NEVER_FACTORIES, ...assets.map(({ address }) => lowerHex(address))])
  for (const factory of factories)
    if (never.has(lowerHex(factory)))
      report(
        'allowedFactories',
        'conflicting_options',
        `has ${factory}, which deploys no accounts: payments depend on it. Remove it`,
      )
}

function coreOf(settings: z.output<typeof remoteNetworkSchema>): ResolvedCore | undefined {
  const { rpcUrl, relayerKeys, acceptContractPayers, executor, allowedFactories = [] } = settings
  if (rpcUrl === undefined || relayerKeys === undefined) return undefined
  const { maxFeePerGasGwei: maxFeePerGas, replaceAfterSeconds: stuckMs } = settings
  const accounts = { acceptContractPayers, allowedFactories }
  return { rpcUrl, relayerKeys, maxFeePerGas, stuckMs, ...accounts, executor }
}

function explainUnknownNetwork(id: string): [ConfigErrorCode, string] {
  if (id === '') return ['missing_option', "is missing: a network, like 'base' or 'base-sepolia'"]
  const meant = suggestNetwork(id)
  const message =
    meant === undefined ? UNKNOWN_NETWORK : `is not a known network; did you mean '${meant}'?`
  return ['unknown_network', `${quoteName(id)} ${message}`]
}

/** The name as written, unless it is too long or too odd for one: it may be a URL or a key. */
function nameOrPlaceholder(id: string): string {
  return /^[\w:-]{0,40}$/.test(id) ? id : '(not a name)'
}

function resolveAssets(
  listed: readonly ListedAsset[] = [USDC],
  network: Network,
  report: Report,
): readonly Asset[] {
  const taken = new Set<string>()
  return listed.flatMap((one, index) => {
    const reportHere = within(report, `assets.${index}`)
    const asset = resolveAsset(one, network, reportHere)
    if (asset === undefined) return []
    const address = asset.address.toLowerCase()
    if (taken.has(address)) reportHere('', 'duplicate_asset', 'is there already')
    taken.add(address)
    return [asset]
  })
}

function resolveAsset(listed: ListedAsset, network: Network, report: Report): Asset | undefined {
  if (listed.kind === 'described') return { ...listed.asset, network }
  const { name, settings } = listed
  const known = findKnownAsset(network, name)
  if (known !== undefined) return { ...known, ...settings }
  report('', 'unknown_asset', explainUnknownAsset(name, network))
  return undefined
}

function explainUnknownAsset(asset: string, network: Network): string {
  const names = knownAssets(network).map(({ symbol }) => symbol)
  const meant = names.find((name) => name.toLowerCase() === asset.toLowerCase())
  if (meant !== undefined)
    return `${quoteName(asset)} is not a known token on ${network.name}; did you mean '${meant}'?`
  const have = names.length > 0 ? `known there: ${names.join(', ')}` : 'none is known there'
  return `${quoteName(asset)} is not a known token on ${network.name} (${have}); describe it with address, symbol, decimals, currency and, if it has ERC-3009, eip712`
}
