import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { NetworkOptions } from '../../src/config/network-options.js'
import type { GatewayOptions } from '../../src/config/options.js'
import type { Hex } from '../../src/protocol/payment.js'

/** How a gateway of a test is to be. */
export interface GatewayProcessOptions {
  readonly network: NetworkOptions
  readonly payTo: Hex
  readonly token: string
  /** A file, a `postgres://` URL, or `memory`. */
  readonly ledger: string
  /** Milliseconds for which a dead process holds what it worked on. */
  readonly lockMs: number
  /** Milliseconds that requests have to finish when it is asked to end. @defaultValue the gateway's */
  readonly closeMs?: number | undefined
  readonly options?: GatewayOptions
  /** A method of the ledger in which the process is killed. */
  readonly diesIn?: 'markDelivered' | undefined
}

/** A gateway in a process of its own. */
export interface GatewayProcess {
  readonly url: string
  readonly alive: boolean
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
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (log += chunk))
  const started = (async () => {
    let output = ''
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      output += chunk as string
      const port = /"port":(\d+)/.exec(output)?.[1]
      if (port !== undefined) return port
    }
    return undefined
  })()
  const port = await started
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
    log: () => log,
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    terminate(name = 'SIGTERM') {
      child.kill(name)
      return ended
    },
  }
}
