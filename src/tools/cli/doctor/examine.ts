import { openConfig } from '../../../gateway/config/read/config-file.js'
import { rpcOption, sourceOf } from '../../../gateway/config/read/name-variables.js'
import type { Environment } from '../../../gateway/config/read/variables.js'
import {
  resolveOptions,
  type ResolvedOptions,
} from '../../../gateway/config/resolve/resolve-options.js'
import { isConfigError } from '../../../shared/errors.js'
import { openGateway } from '../../../gateway/open-gateway.js'
import type { Finding } from '../../../operate/health/finding.js'
import type { LedgerStore } from '../../../ledger/index.js'
import { createMemoryLedger } from '../../../ledger/memory-ledger.js'
import type { LedgerInspector } from '../../../ledger/operate/inspect-ledger.js'
import { silentLogger } from '../../../shared/logger.js'
import type { CliContext } from '../command.js'
import {
  describeUnused,
  ledgerLocation,
  withoutDatabase,
  type NamedLedger,
} from '../ledger-location.js'
import { checkDatabase } from './check-database.js'
import { checkFiles } from './check-files.js'
import { checkProjects } from './check-projects.js'
import { checkWebhooks } from './check-webhooks.js'
import { caution, fault, type DoctorFinding, sound } from './doctor-finding.js'
import { RedisCounts } from '../../../gateway/config/resolve/redis-counts.js'
import { fetchJson } from '../../../shared/http/fetch-json.js'
import { sameNetwork } from '../../../shared/protocol/networks.js'

export interface Examined extends Pick<CliContext, 'env' | 'cwd'> {
  readonly config: string | undefined
  readonly ledger: string | undefined
}

/** Checks a configuration and everything that its gateway depends on. */
export async function examine(examined: Examined): Promise<readonly DoctorFinding[]> {
  try {
    const opened = await openConfig(examined)
    const env = examined.ledger === undefined ? opened.env : withoutDatabase(opened.env)
    const located = ledgerLocation({ ...opened, env }, examined)
    const files = [...(await checkFiles(opened)), ...checkUnused(located)]
    // The ledger is only inspected: opening it would migrate it and start background work.
    const database = await checkDatabase(located)
    try {
      const resolved = opened.with(resolveOptions, withoutDatabase(opened.env))
      // Closing the gateway ends the connection.
      const redis = await checkRedis(resolved, opened.env)
      const outside = await Promise.all([
        checkGateway(resolved, database.inspector, opened.env),
        checkPublicUrl(resolved),
        checkWebhooks(resolved, database.webhooks ?? []),
      ])
      return [
        ...files,
        ...database.findings,
        ...checkProjects(resolved, opened.file === undefined),
        ...redis,
        ...outside.flat(),
      ]
    } catch (error) {
      return [...files, ...database.findings, ...describeMistakes(error)]
    } finally {
      await database.inspector?.close()
    }
  } catch (error) {
    return describeMistakes(error)
  }
}

function checkUnused({ unused }: NamedLedger): readonly DoctorFinding[] {
  return unused === undefined ? [] : [caution('ledger', 'ledger_unused', describeUnused(unused))]
}

function describeMistakes(error: unknown): readonly DoctorFinding[] {
  if (!isConfigError(error)) throw error
  return error.issues.map(({ option, code, message }) =>
    fault('configuration', code, `${option}: ${message}`),
  )
}

/** Runs `gateway.check()` with the transactions of the real ledger. */
async function checkGateway(
  resolved: ResolvedOptions,
  inspector: LedgerInspector | undefined,
  env: Environment,
): Promise<readonly DoctorFinding[]> {
  const gateway = openGateway({
    ...resolved,
    ledger: withTransactionsOf(inspector, createMemoryLedger()),
    logger: silentLogger,
  })
  try {
    const found = await gateway.check()
    return (
      found
        .filter(({ subject }) => subject !== 'ledger')
        // If the ledger cannot be read, pending transactions may be the gateway's own.
        .filter(({ code }) => inspector !== undefined || code !== 'foreign_transactions')
        .map((finding) => {
          const { cause, ...rest } = named(resolved, finding, env)
          return cause === undefined ? rest : { ...rest, message: `${rest.message} (${cause})` }
        })
    )
  } finally {
    await gateway.close()
  }
}

/** Failures whose message does not say which network, token or facilitator was asked. */
const NAMELESS: ReadonlySet<string> = new Set([
  'chain_unreachable',
  'chain_refused',
  'facilitator_unreachable',
  'facilitator_refused',
  'facilitator_busy',
  'timeout',
  'check_failed',
])

/** A finding that names its network, the option to correct, and what else it is about. */
function named(
  { networks }: Pick<ResolvedOptions, 'networks'>,
  finding: Finding,
  env: Environment,
): Finding {
  const { subject, message, symbol, address, network: id } = finding
  if (finding.status === 'ok' || !NAMELESS.has(finding.code)) return finding
  if (subject === 'facilitator') return { ...finding, message: `X402_FACILITATOR_URL: ${message}` }
  const network = networks.find((one) => one.network.caip2 === id)?.network
  if (network === undefined) return finding
  const about = [symbol, subject === 'relayer' && address].filter(Boolean).join(' ')
  const place = `${about && `${subject} ${about} on `}${network.name} (${sourceOf(rpcOption(network), env)})`
  return { ...finding, message: `${place}: ${message}` }
}

function withTransactionsOf(
  inspector: LedgerInspector | undefined,
  store: LedgerStore,
): LedgerStore {
  if (inspector === undefined) return store
  const relayers = { ...store.relayers, listTransactions: inspector.listTransactions }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'relayers') return relayers
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

async function checkRedis(
  { rateLimit, paymentRateLimit }: Pick<ResolvedOptions, 'rateLimit' | 'paymentRateLimit'>,
  env: Environment,
): Promise<readonly DoctorFinding[]> {
  const limits = [
    [sourceOf('rateLimit.redisUrl', env), rateLimit],
    ['paymentRateLimit.redisUrl', paymentRateLimit],
  ] as const
  const found = await Promise.all(
    limits.map(async ([option, limit]) => {
      const counts = limit && limit.store
      return counts instanceof RedisCounts ? [await checkCounts(option, counts)] : []
    }),
  )
  return found.flat()
}

async function checkCounts(option: string, counts: RedisCounts): Promise<DoctorFinding> {
  const kind = await counts.probe()
  if (kind === undefined) return sound('redis', `The Redis of ${option} counts requests.`)
  const message = `The Redis of ${option} does not count (${kind}), so requests are not limited: start it, or correct ${option}.`
  return fault('redis', 'redis_unreachable', message)
}

const TIMEOUT_MS = 5000
const MAX_BYTES = 64 * 1024

/** Lists the networks of a gateway. */
const PATH = '/api/v2/payment/supported'

/** Problem type of a request without a token. */
const PROBLEM = 'urn:x402-gateway:problem:unauthorized'

/** Checks that the public URL leads to this gateway, seen from this machine. */
async function checkPublicUrl({
  publicUrl,
  networks,
}: Pick<ResolvedOptions, 'publicUrl' | 'networks'>): Promise<readonly DoctorFinding[]> {
  if (publicUrl === undefined) return []
  const answer = await fetchJson(`${publicUrl}${PATH}`, {
    headers: { Accept: 'application/json' },
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
  })
  if (answer.kind === 'no_response') {
    const message = `Nothing answers at publicUrl ${publicUrl} (${answer.reason}): start serve, or correct DNS, proxy and firewall.`
    return [caution('publicUrl', 'public_url_unreachable', message)]
  }
  const document = answer.kind === 'json' ? answer.document : undefined
  if (isGateway(document, networks)) return [sound('publicUrl', `${publicUrl} leads to a gateway.`)]
  const message = `publicUrl ${publicUrl} does not lead to this gateway (GET ${PATH}: status ${answer.status}): correct it, or the proxy’s path.`
  return [fault('publicUrl', 'public_url_elsewhere', message)]
}

/** An answer is from this gateway if it asks for a token or lists our networks. */
function isGateway(document: unknown, networks: ResolvedOptions['networks']): boolean {
  const { type } = (document ?? {}) as { type?: unknown }
  if (type === PROBLEM) return true
  const ids = networksIn(document)
  return (
    ids.length > 0 &&
    networks.every(({ network }) => ids.some((id) => sameNetwork(id, network.caip2)))
  )
}

function networksIn(document: unknown): readonly string[] {
  const { kinds } = (document ?? {}) as { kinds?: unknown }
  if (!Array.isArray(kinds)) return []
  return kinds.flatMap((kind: unknown) => {
    const { network } = (kind ?? {}) as { network?: unknown }
    return typeof network === 'string' ? [network] : []
  })
}
