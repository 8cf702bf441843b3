import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'

export interface AnvilOptions {
  readonly binary: string
  /** IP address to listen on. */
  readonly host: string
  /** `0` chooses a free one. */
  readonly port: number
  readonly chainId: number
  /** How many accounts of the development mnemonic get ETH. */
  readonly accounts: number
  /** Seconds between blocks. @defaultValue each transaction is mined at once */
  readonly blockTime?: number
}

export interface Anvil {
  readonly rpcUrl: string
  /** Resolves when the process ends, with its last output or exit code. */
  readonly exited: Promise<string>
  /** Lets this process end although anvil runs, which ends with it. */
  unref(): void
  /** Resolves when the process is gone. */
  stop(): Promise<void>
}

interface Unrefable {
  readonly unref?: () => void
}

type AnvilProcess = ChildProcessByStdio<null, Readable, Readable>

const START_TIMEOUT_MS = 60_000
const LAST_WORDS_LENGTH = 2_000

/**
 * Starts anvil and waits until it listens. It ends with this process, however that ends.
 *
 * @throws Error with anvil's message when it cannot start, for instance on a port in use.
 */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  const child = spawn(options.binary, anvilArguments(options), {
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
  const exited = watchExit(child)
  killWithThisProcess(child)
  const stop = async (): Promise<void> => {
    child.ref()
    child.kill('SIGKILL')
    await exited
  }
  const port = await Promise.race([listeningPort(child), exited])
  if (typeof port === 'number') {
    const unref = (): void => {
      // Pipes of a child are sockets, which its types do not say.
      for (const handle of [child, child.stdout, child.stderr] as readonly Unrefable[])
        handle.unref?.()
    }
    return { rpcUrl: rpcUrl(options.host, port), exited, unref, stop }
  }
  await stop()
  const where = options.port === 0 ? '' : ` on port ${options.port}`
  throw new Error(`anvil did not start${where}: ${port}`)
}

function anvilArguments({ host, port, chainId, accounts, blockTime }: AnvilOptions): string[] {
  const flags: Record<string, string | number> = {
    '--host': host,
    '--port': port,
    '--chain-id': chainId,
    '--accounts': accounts,
    // In ETH, for each: no test or benchmark runs out of gas money.
    '--balance': 1_000_000,
    // The same rules in every version of anvil. Includes EIP-7702, as Base does.
    '--hardfork': 'prague',
    // As large as Base's blocks: a burst of settlements fits in one.
    '--gas-limit': 150_000_000,
    // `safe` and `finalized` follow `latest` closely instead of standing at block 0.
    '--slots-in-an-epoch': 1,
    // States kept, each a copy of all storage. Older ones are dropped, not written to the home folder.
    '--prune-history': 16,
    // Blocks kept with transactions, receipts and logs: bounds memory in long runs.
    '--transaction-block-keeper': 20_000,
    // With this many pending transactions (1000 by default), instant mining stops for good.
    '--max-transactions': 1_000_000,
    '--color': 'never',
  }
  if (blockTime !== undefined) flags['--block-time'] = blockTime
  return Object.entries(flags).flatMap(([flag, value]) => [flag, String(value)])
}

function watchExit(child: AnvilProcess): Promise<string> {
  let words = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    words = (words + chunk).slice(-LAST_WORDS_LENGTH)
  })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(words.trim() || `exit ${signal ?? code}`))
  })
}

/** Resolves with the port once anvil listens, or with the reason why it does not. */
function listeningPort({ stdout }: AnvilProcess): Promise<number | string> {
  return new Promise((resolve) => {
    const timeout = setTimeout(() => resolve('it does not listen'), START_TIMEOUT_MS).unref()
    let output = ''
    const read = (chunk: string): void => {
      output += chunk
      const port = /^Listening on \S+:(\d+)\r?\n/m.exec(output)?.[1]
      if (port === undefined) return
      clearTimeout(timeout)
      // Reads and drops the rest: a full pipe would block anvil.
      stdout.off('data', read).resume()
      resolve(Number(port))
    }
    stdout.setEncoding('utf8').on('data', read)
  })
}

function rpcUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

const running = new Set<AnvilProcess>()

/**
 * Ends anvil with this process, without touching its signal handlers.
 *
 * The event `exit` covers an orderly end. For SIGKILL, signals without a handler and crashes, a shell
 * waits for the end of its standard input, which the system closes with this process. Windows has no such
 * shell, so only an orderly end and Ctrl-C are covered there.
 */
function killWithThisProcess(child: AnvilProcess): void {
  if (child.pid === undefined) return
  if (running.size === 0) process.on('exit', killRunning)
  running.add(child)
  const endWatch = process.platform === 'win32' ? undefined : watchThisProcess(child.pid)
  child.once('exit', () => {
    endWatch?.()
    running.delete(child)
    if (running.size === 0) process.off('exit', killRunning)
  })
}

function killRunning(): void {
  for (const child of running) child.kill('SIGKILL')
}

function watchThisProcess(pid: number): () => void {
  const watch = spawn('sh', ['-c', 'read _; kill -9 "$1"', 'sh', String(pid)], {
    // A signal to the process group must not end the watch.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watch.on('error', () => undefined)
  watch.stdin.on('error', () => undefined)
  watch.unref()
  return () => {
    watch.kill('SIGKILL')
    watch.stdin.destroy()
  }
}
