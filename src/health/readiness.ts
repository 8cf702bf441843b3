import { setTimeout as sleep } from 'node:timers/promises'
import { deduped } from '../chain/deduped.js'
import { gasTokenOf } from '../protocol/networks.js'
import { facilitatorFindings, type CheckedParts, type OwnNetwork } from './check-gateway.js'
import { checkLedger } from './check-ledger.js'
import { checkNetwork } from './check-network.js'
import { failed, findings, fine, type Finding, type Place } from './finding.js'

/** Milliseconds for which a result is given without another check. */
const FRESH_MS = 3000

/** Milliseconds after which a result is no longer given, while the next one takes long. */
const USABLE_MS = 30_000

/** Milliseconds that a probe waits for a result: those of Kubernetes give up after 1 s. */
const PROBE_MS = 800

/** Whether a gateway can take payments now. */
export interface Readiness {
  readonly isReady: boolean
  /** Each without `cause`, which is for the operator alone. */
  readonly checks: readonly Finding[]
}

/** Options of {@link ReadinessWatch}. */
export interface ReadinessOptions extends Omit<
  CheckedParts,
  'projects' | 'rates' | 'headerBytesOf'
> {
  /** Aborted once the gateway is closed. */
  readonly closed: AbortSignal
}

/**
 * Knows whether a gateway can take payments, however often it is asked: a check is started when the
 * last result is 3 s old, and one is under way at most.
 */
export class ReadinessWatch {
  /** Whether the app has the probes, somewhere. */
  isServed = false
  readonly #options: ReadinessOptions
  readonly #checking = deduped(() => this.#check())
  #last: { readonly readiness: Readiness; readonly at: number } | undefined

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  /** Whether payments can be taken now. Answers within a second, and never rejects. */
  async read(): Promise<Readiness> {
    if (this.#options.closed.aborted) return notReady('check_failed', 'The gateway is closed.')
    const known = this.#within(FRESH_MS)
    if (known !== undefined) return known
    const done = new AbortController()
    const patience = sleep(PROBE_MS, undefined, { signal: done.signal }).catch(() => undefined)
    const checked = await Promise.race([this.#checking(), patience])
    done.abort()
    return checked ?? this.#within(USABLE_MS) ?? notReady('timeout', 'The check is under way.')
  }

  #within(ageMs: number): Readiness | undefined {
    const last = this.#last
    return last && performance.now() - last.at < ageMs ? last.readiness : undefined
  }

  async #check(): Promise<Readiness> {
    const { ledger, cores, now } = this.#options
    const found = await Promise.all([
      findings({ subject: 'ledger' }, () => checkLedger(ledger)),
      ...cores.map((core) => checkCore(core, now)),
      facilitatorFindings(this.#options),
    ])
    const checks = found.flat().map(({ cause: _cause, ...shown }) => shown)
    const readiness = { isReady: checks.every(({ status }) => status !== 'error'), checks }
    this.#last = { readiness, at: performance.now() }
    return readiness
  }
}

function notReady(code: Finding['code'], message: string): Readiness {
  return { isReady: false, checks: [failed({ subject: 'gateway' }, { code, message })] }
}

/** Checks a node, and that one of its relayers can send. */
async function checkCore(core: OwnNetwork, now: () => number): Promise<readonly Finding[]> {
  const { chain, relayers } = core
  const network = chain.network.caip2
  const [node, funded] = await Promise.all([
    findings({ subject: 'network', network }, () => checkNetwork(chain, now())),
    findings({ subject: 'relayer', network }, async () => [await checkFunded(relayers, chain)]),
  ])
  // Without an answer of the node, nothing is known about balances.
  return node.some(({ status }) => status === 'error') ? node : [...node, ...funded]
}

/** Whether one relayer can pay for a settlement. Balances are read once in ten seconds at most. */
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
    message: `No relayer on ${network.name} can pay for gas: send ${gasTokenOf(network)} to one.`,
  })
}
