import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import type { Question, Usage } from './servers/host.js'
import type { ServerSetup } from './servers/setup.js'

/** A server in a process of its own. */
export interface ServerProcess {
  readonly url: string
  /** Forgets what it has used so far. */
  reset(): Promise<void>
  usage(): Promise<Usage>
  /** Bytes in use after a garbage collection. */
  heap(): Promise<number>
  /** Kills it. */
  close(): Promise<void>
  /** Ends it after it has finished what it has in hand. */
  stop(): Promise<void>
}

let compiled: Promise<string> | undefined

/** Starts a server; it is ready when this resolves. */
export async function startServer(setup: ServerSetup): Promise<ServerProcess> {
  compiled ??= compileHost()
  const child = fork(await compiled, {
    env: { ...process.env, NODE_ENV: 'production' },
    execArgv: ['--expose-gc'],
  })
  const port = await ask<number>(child, { start: setup })
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  return {
    url: `http://127.0.0.1:${port}`,
    reset: async () => void (await ask(child, 'reset')),
    usage: () => ask(child, 'usage'),
    heap: () => ask(child, 'heap'),
    close: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}

/**
 * Compiles the servers once. If each did so itself, the compiler would be a part of what is measured: it takes
 * some 40 MiB.
 *
 * @returns The path of their program.
 */
async function compileHost(): Promise<string> {
  const dir = fileURLToPath(new URL('dist', import.meta.url))
  await build({
    input: fileURLToPath(new URL('servers/host.ts', import.meta.url)),
    external: /^[^./]/,
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    output: { dir, format: 'esm', cleanDir: true },
  })
  return join(dir, 'host.js')
}

async function ask<T>(child: ChildProcess, question: Question): Promise<T> {
  const answered = new AbortController()
  const { signal } = answered
  const ended = once(child, 'exit', { signal }).then(([code, reason]) => {
    throw new Error(`The server has ended: ${String(code ?? reason)}`)
  })
  const reply = once(child, 'message', { signal })
  child.send(question)
  try {
    const [value] = (await Promise.race([reply, ended])) as [T]
    return value
  } finally {
    for (const one of [reply, ended]) one.catch(() => undefined)
    answered.abort()
  }
}
