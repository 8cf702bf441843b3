import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
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
  close(): Promise<void>
}

/** Starts a server; it is ready when this resolves. */
export async function startServer(setup: ServerSetup): Promise<ServerProcess> {
  const child = fork(fileURLToPath(new URL('servers/host.ts', import.meta.url)), {
    env: { ...process.env, NODE_ENV: 'production' },
    execArgv: [
      '--expose-gc',
      '--import',
      new URL('../support/typescript.mjs', import.meta.url).href,
    ],
  })
  const port = await ask<number>(child, { start: setup })
  return {
    url: `http://127.0.0.1:${port}`,
    reset: async () => void (await ask(child, 'reset')),
    usage: () => ask(child, 'usage'),
    heap: () => ask(child, 'heap'),
    async close() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function ask<T>(child: ChildProcess, question: Question): Promise<T> {
  const answered = once(child, 'message')
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`The server has ended: ${String(code ?? signal)}`)
  })
  child.send(question)
  const [reply] = (await Promise.race([answered, ended])) as [T]
  ended.catch(() => undefined)
  return reply
}
