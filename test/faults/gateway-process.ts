import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { NetworkOptions } from '../../src/gateway/config/options/network.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import type { Hex } from '../../src/shared/protocol/payment.js'

/** Before a statement of the ledger, or after it. */
export type LedgerMoment =
  `${'before' | 'after'} ${'payments.reserve' | 'payments.settleUncharged' | 'payments.markDelivered' | 'relayers.submitNext'}`

/** A second project of a gateway: its merchant and its identify token. */
export interface OtherProject {
  readonly payTo: Hex
  readonly token: string
}

/** How a gateway of a test is to be. */
export interface GatewayProcessOptions {
  readonly network: NetworkOptions
  readonly payTo: Hex
  readonly token: string
  /** A second project. */
  readonly other?: OtherProject | undefined
  /** A file, a `postgres://` URL, or `memory`. */
  readonly ledger: string
  /** Milliseconds for which a dead process holds what it worked on. */
  readonly lockMs: number
  /** Milliseconds that requests have to finish when it is asked to end. @defaultValue the gateway's */
  readonly closeMs?: number | undefined
  readonly options?: GatewayOptions
  /** A statement of the ledger around which the process is killed. */
  readonly diesIn?: LedgerMoment | undefined
}

/**
 * What a gateway's process tells of a visit that has a name: a request that presents a payment. It knows
 * what a client that gave up, or heard nothing, does not.
 */
export interface VisitReport {
  readonly visit: string
  /** The request arrived, its handler ran, or an answer was handed to its connection. */
  readonly event: 'took' | 'ran' | 'sent'
  /** The HTTP status that was sent. */
  readonly status?: number
  /** What was made or sent: the handler's good, or the transaction of a settlement. */
  readonly good?: string
  /** Token units that the handler charges, where it says so. */
  readonly charge?: string
  /** It costs nothing: waived, or an error of the handler. */
  readonly isFree?: boolean
  /** What the handler was asked to do. */
  readonly mood?: string
  /** Whether the connection still stood, as far as the process knew. */
  readonly isConnected?: boolean
}

/** How a process was ended by its test. */
export type EndSignal = 'SIGKILL' | 'SIGTERM' | 'SIGINT'

/** A gateway in a process of its own. */
export interface GatewayProcess {
  readonly url: string
  readonly alive: boolean
  readonly visits: readonly VisitReport[]
  /** The first signal that was to end it. */
  readonly endedBy: EndSignal | undefined
  /** Lets the handlers of `/held` respond, from when what was verified so far is verified again. */
  release(): Promise<void>
  /** What it has logged. */
  log(): string
  /** Kills it, pauses it (SIGSTOP), or lets it go on (SIGCONT). */
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  /** Kills it on the spot (SIGKILL); resolves when it is gone. */
  kill(): Promise<void>
  /** Asks it to end; resolves with its exit code. @defaultValue SIGTERM */
  terminate(name?: 'SIGTERM' | 'SIGINT'): Promise<number | null>
}

/** Longer than what was verified is not verified again. */
const VERIFIED_MS = 600

const program = fileURLToPath(new URL('gateway-process.mjs', import.meta.url))

/** Starts a gateway; resolves when it answers. It does not outlive this process. */
export async function startGateway(options: GatewayProcessOptions): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, FAULT_GATEWAY: JSON.stringify(options) },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  child.stdin.on('error', () => undefined)
  let log = ''
  let endedBy: EndSignal | undefined
  const visits: VisitReport[] = []
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (log += chunk))
  const port = await new Promise<number | undefined>((resolve) => {
    void ended.then(() => resolve(undefined))
    createInterface({ input: child.stdout }).on('line', (line) => {
      const told = JSON.parse(line) as VisitReport | { readonly port: number }
      if ('port' in told) resolve(told.port)
      else visits.push(told)
    })
  })
  if (port === undefined) throw new Error(`The gateway did not start:\n${log}`)
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    async release() {
      await sleep(VERIFIED_MS)
      await fetch(`${url}/release`, { method: 'POST' })
    },
    get alive() {
      return child.exitCode === null && child.signalCode === null
    },
    visits,
    get endedBy() {
      return endedBy
    },
    log: () => log,
    signal(name) {
      if (name === 'SIGKILL') endedBy ??= name
      child.kill(name)
    },
    async kill() {
      endedBy ??= 'SIGKILL'
      child.kill('SIGKILL')
      await ended
    },
    terminate(name = 'SIGTERM') {
      endedBy ??= name
      child.kill(name)
      return ended
    },
  }
}
