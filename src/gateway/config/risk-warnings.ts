import { addressOfKey } from '../../shared/crypto/address-of-key.js'
import cluster from 'node:cluster'
import { DEVNET_ADDRESSES } from '../../shared/crypto/devnet-addresses.js'
import type { Logger } from '../../shared/logger.js'
import type { Environment } from './read/variables.js'
import type { ResolvedOptions } from './resolve/resolve-options.js'
import { world } from '../../shared/world.js'

export interface RiskyParts extends Pick<
  ResolvedOptions,
  'networks' | 'projects' | 'publicUrl' | 'hasRates' | 'logger'
> {
  /** Keeps its payments. */
  readonly ledger: { readonly isInMemory: boolean }
  /** Aborted once the gateway closes. */
  readonly stopping: AbortSignal
}

const DEVNET_ACCOUNTS: ReadonlySet<string> = new Set(
  DEVNET_ADDRESSES.map((address) => address.toLowerCase()),
)

/** Hosts that only this machine reaches. */
const LOCAL_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** Keys of the risks that were logged in this process. */
const given = new Set<string>()

/**
 * Warns of options that work and are a risk, each risk once a process. Most are risks in production only.
 *
 * @param env - Says whether this is production, by `NODE_ENV`.
 */
export async function warnOfRisks(
  parts: RiskyParts,
  env: Environment = process.env,
): Promise<void> {
  const isProduction = env['NODE_ENV'] === 'production'
  const { isInMemory } = parts.ledger
  if (isInMemory) warnOfTwins(parts)
  if (isInMemory && isOneOfSeveral(env)) warnOnce(parts.logger, SHARED_MEMORY)
  else if (isInMemory && isProduction) warnOnce(parts.logger, MEMORY)
  warnOfUnpayable(parts)
  if (parts.networks.some(({ hasIdleRelayers }) => hasIdleRelayers))
    warnOnce(parts.logger, IDLE_RELAYERS)
  if (!isProduction) return
  warnOfNetworks(parts)
  if (parts.publicUrl !== undefined && isPlainHttp(parts.publicUrl))
    warnOnce(parts.logger, PLAIN_HTTP, { publicUrl: parts.publicUrl })
  await warnOfAccounts(parts)
}

const SHARED_MEMORY =
  'Several processes run, each with its own memory ledger: one payment could buy once in each. ' +
  'Share a database: X402_DATABASE_URL, or the option ledger.'
const TWINS =
  'Two gateways of this process are paid at one address, each with its own memory ledger: one payment could buy once ' +
  'at each. Open one gateway, or give both the same ledger.'
const IDLE_RELAYERS =
  'A facilitator settles, so that relayers of this gateway send nothing. Remove relayerKeys (X402_RELAYER_KEY), ' +
  'or the facilitator (X402_FACILITATOR_URL).'
const MEMORY =
  'Payments are kept in memory, and those under way are forgotten when the process ends. Keep ' +
  'them in a database: X402_DATABASE_URL, or the option ledger.'
const DEVNET_RELAYER =
  'A relayer is an account of development tools, whose private key is public: its gas money will ' +
  'be stolen. Make a key of your own.'
const DEVNET_PAYEE =
  'A merchant is paid at an address of development tools, whose private key is public: its income ' +
  'will be stolen.'
const PAID_RELAYER =
  'A merchant is paid at the address of a relayer, whose private key is on this server. Use an ' +
  'address whose key is kept elsewhere.'
const TEST_NETWORKS = 'Payments are taken on test networks, whose tokens are worth nothing.'
const PLAIN_HTTP =
  'The public URL is not https: payments, and what is bought with them, can be read and changed ' +
  'on their way.'

/** Gateways of this process with a ledger in memory, by public URL and the address that is paid. */
const inMemory = new Map<string, { ledger: WeakRef<object>; stopping: AbortSignal }>()

/** Warns of an open gateway that is paid at the same address, and does not know the payments of this one. */
function warnOfTwins({ projects, publicUrl = '', ledger, stopping, logger }: RiskyParts): void {
  for (const { merchant } of projects) {
    if (merchant === undefined) continue
    const name = `${publicUrl} ${merchant.payTo.toLowerCase()}`
    const twin = inMemory.get(name)
    if (twin?.stopping.aborted === false && twin.ledger.deref() !== ledger)
      warnOnce(logger, TWINS, { key: name, payTo: merchant.payTo })
    inMemory.set(name, { ledger: new WeakRef(ledger), stopping })
  }
}

/** Warns of merchants that can never take a price in the currency that their options name. */
function warnOfUnpayable({ projects, hasRates, logger }: RiskyParts): void {
  for (const { id: project, merchant, settings } of projects) {
    if (merchant === undefined || settings === undefined || !('currency' in settings)) continue
    const { currency, accepts, crossCurrency } = merchant
    if (accepts.some((asset) => asset.currency === currency) || (crossCurrency && hasRates))
      continue
    const tokens = accepts.map(({ symbol, network }) => `${symbol} on ${network.name}`).join(', ')
    const warning =
      'No token of a merchant is pegged to its currency, and prices are not converted: prices in ' +
      'that currency are refused. Accept a token of that currency, or set crossCurrency and rates.'
    warnOnce(logger, warning, { key: `unpayable:${project}`, project, currency, tokens })
  }
}

async function warnOfAccounts({ networks, projects, logger }: RiskyParts): Promise<void> {
  const keys = networks.flatMap(({ core }) => core?.relayerKeys ?? [])
  // Not before the app listens: each key takes a millisecond.
  await world.nextTurn()
  const relayers = keys.map((key) => addressOfKey(key).toLowerCase())
  const relayer = relayers.find((address) => DEVNET_ACCOUNTS.has(address))
  if (relayer !== undefined) warnOnce(logger, DEVNET_RELAYER, { relayer })
  for (const { id: project, merchant } of projects) {
    const payTo = merchant?.payTo.toLowerCase()
    if (payTo === undefined) continue
    if (DEVNET_ACCOUNTS.has(payTo)) warnOnce(logger, DEVNET_PAYEE, { project, payTo })
    else if (relayers.includes(payTo)) warnOnce(logger, PAID_RELAYER, { project, payTo })
  }
}

function warnOfNetworks({ networks, logger }: RiskyParts): void {
  const tests = networks.flatMap(({ network }) => (network.testnet ? [network.name] : []))
  if (tests.length > 0) warnOnce(logger, TEST_NETWORKS, { networks: tests.join(', ') })
}

function isPlainHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !LOCAL_HOST.test(hostname)
}

/** @param about - Log fields, and a key for a risk that is not the same everywhere. */
function warnOnce(
  logger: Logger,
  risk: string,
  about: Readonly<Record<string, string>> = {},
): void {
  const { key = risk, ...fields } = about
  if (given.has(key)) return
  given.add(key)
  logger.warn(risk, fields)
}

/** Detects workers of `node:cluster`, and all but the first instance of pm2. */
function isOneOfSeveral(env: Environment): boolean {
  return cluster.isWorker || Number(env['NODE_APP_INSTANCE']) > 0
}
