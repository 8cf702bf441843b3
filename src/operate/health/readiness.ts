import { deduped } from '../../core/chain/deduped.js'
import { gasTokenOf } from '../../shared/protocol/networks.js'
import { facilitatorFindings, type CheckedParts, type OwnNetwork } from './check-gateway.js'
import { checkLedger } from './check-ledger.js'
import { checkNetwork } from './check-network.js'
import { failed, findings, fine, type Finding, type Place } from './finding.js'
import { world } from '../../shared/world.js'

/** How long a result is reused without another check (ms). */
const FRESH_MS = 3000

/** How long a result is reused while the next check takes long (ms). */
const USABLE_MS = 30_000

/** How long a probe waits for a result (ms). Kubernetes gives up after 1 s. */
const PROBE_MS = 800

export interface Readiness {
  readonly isReady: boolean
  /** Without `cause`, which only the operator may see. */
  readonly checks: readonly Finding[]
}

export interface ReadinessOptions extends Omit<
  CheckedParts,
  'projects' | 'rates' | 'headerBytesOf' | 'shares'
> {
  /** Aborted once the gateway is closed. */
  readonly closed: AbortSignal
}

/**
 * Checks whether a gateway can take payments. However often it is asked, it runs one check at a time, and
 * none while the last result is younger than 3 s.
 */
export class ReadinessWatch {
  readonly #options: ReadinessOptions
  readonly #checking = deduped(() => this.#check())
  /** Whether the check that runs waits for the ledger. */
  #awaitsLedger = false
  #last: { readonly readiness: Readiness; readonly at: number } | undefined

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  /** Reads the current state. Answers within a second and never rejects. */
  async read(): Promise<Readiness> {
    if (this.#options.closed.aborted) return notReady('check_failed', 'The gateway is closed.')
    const known = this.#within(FRESH_MS)
    if (known !== undefined) return known
    const done = new AbortController()
    const patience = world
      .sleep(PROBE_MS, undefined, { signal: done.signal })
      .catch(() => undefined)
    const checked = await Promise.race([this.#checking(), patience])
    done.abort()
    const subject = this.#awaitsLedger ? 'ledger' : 'gateway'
    const late = (): Readiness => notReady('timeout', 'The check is still running.', subject)
    return checked ?? this.#within(USABLE_MS) ?? late()
  }

  #within(ageMs: number): Readiness | undefined {
    const last = this.#last
    return last && world.elapsed() - last.at < ageMs ? last.readiness : undefined
  }

  async #check(): Promise<Readiness> {
    const { ledger, cores, now } = this.#options
    this.#awaitsLedger = true
    const readLedger = findings({ subject: 'ledger' }, () => checkLedger(ledger))
    const found = await Promise.all([
      readLedger.finally(() => (this.#awaitsLedger = false)),
      ...cores.map((core) => checkCore(core, now)),
      ...facilitatorFindings(this.#options),
    ])
    const checks = found.flat().map(({ cause: _cause, ...shown }) => shown)
    const readiness = { isReady: checks.every(({ status }) => status !== 'error'), checks }
    this.#last = { readiness, at: world.elapsed() }
    return readiness
  }
}

function notReady(
  code: Finding['code'],
  message: string,
  subject: Finding['subject'] = 'gateway',
): Readiness {
  return { isReady: false, checks: [failed({ subject }, { code, message })] }
}

async function checkCore(core: OwnNetwork, now: () => number): Promise<readonly Finding[]> {
  const { chain, relayers } = core
  const network = chain.network.caip2
  const [node, funded] = await Promise.all([
    findings({ subject: 'network', network }, () => checkNetwork(chain, now())),
    findings({ subject: 'relayer', network }, async () => [await checkFunded(relayers, chain)]),
  ])
  // Balances are unknown without an answer of the node.
  return node.some(({ status }) => status === 'error') ? node : [...node, ...funded]
}

/** Checks that one relayer can pay for a settlement. Reads balances at most once in ten seconds. */
async function checkFunded(
  { accounts }: Pick<OwnNetwork['relayers'], 'accounts'>,
  { network }: OwnNetwork['chain'],
): Promise<Finding> {
  const place: Place = { subject: 'relayer', network: network.caip2 }
  for (const { funds } of accounts)
    if (funds.suffice ?? (await funds.check()))
      return fine(place, `A relayer on ${network.name} can pay for gas.`)
  return failed(place, {
    code: 'relayer_without_funds',
    message: `No relayer on ${network.name} has enough gas money. Send ${gasTokenOf(network)} to one.`,
  })
}
