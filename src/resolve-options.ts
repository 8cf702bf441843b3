import { ConfigError, type ConfigIssue } from './errors.js'
import type { Facilitator } from './facilitator/facilitator.js'
import type { Ledger } from './ledger/ledger.js'
import { processWarnings, type Logger } from './logger.js'
import {
  findAcceptedAsset,
  parseConfiguredToken,
  type Merchant,
  type Project,
} from './merchants/project.js'
import { findKnownAsset, knownAssets, type Asset } from './money/assets.js'
import { compare, parseDecimal, type Decimal } from './money/decimal.js'
import type { RateSource } from './money/rates.js'
import { hasShape, isObject, within, type Report } from './option-report.js'
import {
  localNetworkSchema,
  merchantSchema,
  optionsSchema,
  projectSchema,
  remoteNetworkSchema,
  TOKEN_FORMS,
} from './option-schemas.js'
import type {
  AssetOptions,
  GatewayOptions,
  KnownAssetOptions,
  MerchantOptions,
  NetworkOptions,
  ProjectOptions,
  RateLimitOptions,
} from './options.js'
import {
  findNetwork,
  sameNetwork,
  type Network,
  type NetworkNameStyle,
} from './protocol/networks.js'
import type { Address, Hex } from './protocol/payment.js'
import { resolveRates } from './resolve-rates.js'

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
}

/** Options after defaults and checks. */
export interface ResolvedOptions {
  readonly publicUrl: string | undefined
  readonly docsUrl: string | undefined
  readonly handlerId: string
  readonly networkNames: NetworkNameStyle
  readonly networks: readonly ResolvedNetwork[]
  readonly projects: readonly Project[]
  readonly rates: RateSource
  readonly quoteSecret: string | undefined
  readonly rateLimit: RateLimitOptions | false
  readonly facilitator: Facilitator | undefined
  readonly ledger: Ledger | undefined
  readonly logger: Logger
  readonly settleTimeoutMs: number
  readonly now: () => number
}

const DEFAULT_HANDLER_ID = 'xyz.vendor.gateway_payment'
const DEFAULT_MAX_TIMEOUT_SECONDS = 300
const WEI_PER_GWEI = 1e9
const DEFAULT_SETTLE_TIMEOUT_MS = 25_000

/**
 * Checks options and fills in what was left out.
 *
 * @throws {@link ConfigError} with everything that is wrong, each by its path.
 */
export function resolveOptions(options: GatewayOptions): ResolvedOptions {
  const issues: ConfigIssue[] = []
  const report: Report = (option, message) => void issues.push({ option, message })
  if (!isObject(options)) throw new ConfigError('options', 'must be an object')
  hasShape(optionsSchema, options, report)
  const networks = resolveNetworks(options, report)
  const projects = resolveProjects(options, networks, report)
  const rates = resolveRates(
    options,
    networks.flatMap(({ assets }) => assets),
    report,
  )
  if (issues.length > 0) throw new ConfigError(issues)

  return {
    publicUrl: options.publicUrl?.replace(/\/+$/, ''),
    docsUrl: options.ucp?.docsUrl?.replace(/\/+$/, ''),
    handlerId: options.handlerId ?? DEFAULT_HANDLER_ID,
    networkNames: options.networkNames ?? 'caip2',
    networks,
    projects,
    rates,
    quoteSecret: options.quoteSecret,
    rateLimit: options.rateLimit ?? {},
    facilitator: options.facilitator,
    ledger: options.ledger,
    logger: options.logger ?? processWarnings,
    settleTimeoutMs: options.settleTimeoutMs ?? DEFAULT_SETTLE_TIMEOUT_MS,
    now: options.now ?? Date.now,
  }
}

function resolveNetworks(options: GatewayOptions, report: Report): readonly ResolvedNetwork[] {
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
    const { rpcUrl, relayerKeys } = settings
    const isLocal = rpcUrl !== undefined && relayerKeys !== undefined
    const core = isLocal
      ? { rpcUrl, relayerKeys: relayerKeys as readonly Hex[], ...gasOptions(settings) }
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

function resolveProjects(
  options: GatewayOptions,
  networks: readonly ResolvedNetwork[],
  report: Report,
): readonly Project[] {
  if (!Array.isArray(options.projects)) return []
  const takenIds = new Set<string>()
  const takenHashes = new Set<string>()
  return (options.projects as readonly ProjectOptions[]).flatMap((project, index) => {
    const reportHere = within(report, `projects.${index}`)
    if (!hasShape(projectSchema, project, reportHere)) return []
    const { id, tokens = [], merchant } = project
    if (takenIds.has(id)) reportHere('id', `'${id}' is taken by another project`)
    takenIds.add(id)

    const tokenHashes = tokens.flatMap((token, position) => {
      const reportToken = within(reportHere, `tokens.${position}`)
      const hash = parseConfiguredToken(token)
      if (hash === undefined) {
        reportToken('', TOKEN_FORMS)
        return []
      }
      if (takenHashes.has(hash.toString('hex'))) reportToken('', 'is there already')
      takenHashes.add(hash.toString('hex'))
      return [hash]
    })
    if (merchant === undefined) return [{ id, tokenHashes }]
    const context = { project: id, options, networks }
    return [
      {
        id,
        tokenHashes,
        merchant: resolveMerchant(merchant, context, within(reportHere, 'merchant')),
      },
    ]
  })
}

interface MerchantContext {
  readonly project: string
  readonly options: GatewayOptions
  readonly networks: readonly ResolvedNetwork[]
}

function resolveMerchant(
  merchant: MerchantOptions,
  { project, options, networks }: MerchantContext,
  report: Report,
): Merchant | undefined {
  const configured = Object.keys(options.networks ?? {})
  if (configured.length === 0) report('accepts', 'there is no network: configure `networks`')
  if (!hasShape(merchantSchema, merchant, report)) return undefined

  const minAmount = limitOf(merchant.minAmount)
  const maxAmount = limitOf(merchant.maxAmount)
  if (minAmount && maxAmount && compare(minAmount, maxAmount) > 0)
    report('maxAmount', 'is less than `minAmount`')
  const offered = networks.flatMap(({ assets }) => assets)
  const accepts = merchant.accepts?.flatMap(({ network, asset }, index) => {
    const found = findAcceptedAsset({ accepts: offered }, { network, asset })
    if (found !== undefined) return [found]
    // Where the network itself is wrong, that is what is to be mended.
    const isUnresolved =
      configured.some((id) => sameNetwork(id, network)) &&
      !networks.some((one) => sameNetwork(one.network.caip2, network))
    if (!isUnresolved)
      report(`accepts.${index}`, `'${asset}' on '${network}' is not among \`networks\``)
    return []
  })
  return {
    project,
    name: merchant.name,
    payTo: merchant.payTo as Address,
    currency: merchant.currency ?? 'USD',
    accepts: accepts ?? offered,
    crossCurrency: merchant.crossCurrency ?? false,
    fxBufferBps: merchant.fxBufferBps ?? 0,
    minAmount,
    maxAmount,
    maxTimeoutSeconds: merchant.maxTimeoutSeconds ?? DEFAULT_MAX_TIMEOUT_SECONDS,
    repeatSettlements: merchant.repeatSettlements ?? true,
  }
}

function limitOf(text: string | undefined): Decimal | undefined {
  return text === undefined ? undefined : parseDecimal(text)
}
