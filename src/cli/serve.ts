import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import express, { type RequestHandler } from 'express'
import { databaseVariable, SERVE_DATABASE, type Environment } from '../config/environment.js'
import { ConfigError, isConfigError, isLedgerError } from '../errors.js'
import { openGateway, type Gateway } from '../gateway.js'
import type { LedgerStore } from '../ledger/ledger.js'
import { createMemoryLedger } from '../ledger/memory-ledger.js'
import { openSqliteLedger } from '../ledger/sql/sqlite-ledger.js'
import type { Logger } from '../logger.js'
import { respondProblem } from '../http/respond-problem.js'
import { resolveOptions } from '../config/resolve.js'
import type { CliContext } from './context.js'
import { withConfig } from '../config/config-file.js'

const DEFAULT_PORT = 4402
const DEFAULT_HOST = '127.0.0.1'

/** Default ledger, relative to the working directory. */
const LEDGER_FILE = join('data', 'ledger.db')

/** Milliseconds that open requests get to finish after a signal to end. */
const SHUTDOWN_MS = 10_000

/** Milliseconds between sweeps that close connections which have become idle. */
const SWEEP_MS = 50

/** Milliseconds for the last responses, which say that a settlement is pending. */
const LAST_RESPONSES_MS = 500

/** The flags of `serve`, and its context. */
export interface ServeCommand extends CliContext {
  readonly config: string | undefined
  readonly port: number | undefined
  readonly host: string | undefined
  /** Keeps payments in memory only. */
  readonly memory: boolean
}

/** Runs the gateway until `signal` is aborted; prints its URL once it listens. */
export async function serve(command: ServeCommand): Promise<void> {
  const { port = DEFAULT_PORT, host = DEFAULT_HOST, print, signal } = command
  const gateway = await startGateway(command)
  try {
    const app = express()
    app.disable('x-powered-by')
    // Forwarded headers count only from a reverse proxy on this machine.
    app.set('trust proxy', 'loopback')
    app.use((_req, res, next) => {
      // A kept-alive connection would bring further requests while the process ends.
      if (signal.aborted) res.set('Connection', 'close')
      next()
    })
    app.use(gateway.gatewayRouter())
    app.use(respondNotFound)
    const server = await listen(app, { port, host })
    print(`express-x402-gateway answers on ${urlOf(server)}`)
    if (!signal.aborted) await once(signal, 'abort')
    await stop(server, gateway)
  } finally {
    await gateway.close()
  }
}

/** Responds to paths outside the gateway, which serves nothing else. */
const respondNotFound: RequestHandler = (req, res) => {
  const detail = `There is no ${req.path} here; the gateway answers below /api/v2 and /ucp.`
  respondProblem(res, 'api', { code: 'not_found', detail })
}

/** Opens a gateway whose ledger was found to work. */
async function startGateway(command: ServeCommand): Promise<Gateway> {
  const { cwd, memory } = command
  const env = memory ? withoutDatabase(command.env) : command.env
  const resolved = await withConfig({ ...command, env }, resolveOptions)
  const ledger = resolved.ledger ?? (memory ? createMemoryLedger() : embeddedLedger(cwd))
  await requireUsable(ledger, databaseVariable(env, SERVE_DATABASE) ?? 'ledger')
  return openGateway({ ...resolved, ledger, logger: createLogger(command) })
}

function withoutDatabase(env: Environment): Environment {
  return { ...env, ...Object.fromEntries(SERVE_DATABASE.map((name) => [name, undefined])) }
}

function embeddedLedger(cwd: string): LedgerStore {
  try {
    return openSqliteLedger(join(cwd, LEDGER_FILE))
  } catch (error) {
    if (!isConfigError(error)) throw error
    const [issue] = error.issues
    const hint = 'or start with --memory, and no payment is remembered after the process has ended'
    throw new ConfigError(error.option, `${issue?.message}, ${hint}`, issue?.code)
  }
}

async function requireUsable(ledger: LedgerStore, option: string): Promise<void> {
  try {
    await ledger.listSubmitted()
  } catch (error) {
    await ledger.close()
    if (!isLedgerError(error)) throw error
    const reason = error.cause instanceof Error ? error.cause.message : error.code
    throw new ConfigError(
      option,
      `the ledger’s database cannot be used (${reason})`,
      'unusable_ledger',
    )
  }
}

function createLogger(command: ServeCommand): Logger {
  const complain =
    (level: string) =>
    (message: string, fields?: object): void =>
      command.complain(logLine(level, message, fields))
  return {
    debug: () => undefined,
    info: () => undefined,
    warn: complain('warn'),
    error: complain('error'),
  }
}

/** One line of JSON. Of an error it has the message and the cause, which contain no secrets. */
function logLine(level: string, message: string, fields: object = {}): string {
  const describe = (_name: string, value: unknown): unknown =>
    value instanceof Error
      ? { message: value.message, ...(value.cause !== undefined && { cause: value.cause }) }
      : value
  return JSON.stringify({ level, time: new Date().toISOString(), message, ...fields }, describe)
}

async function listen(
  app: express.Express,
  { port, host }: { port: number; host: string },
): Promise<Server> {
  const server = app.listen(port, host)
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const [option, message] =
      code === 'EADDRINUSE'
        ? ['port', `${port} on ${host} is in use; choose another with --port`]
        : ['host', `cannot listen on ${host}:${port} (${code ?? 'unknown'})`]
    throw new ConfigError(option, message, 'unusable_address')
  }
}

function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

/**
 * Lets open requests finish, then closes the server.
 *
 * Requests that are still open after 10 s are answered with what is known by then. The ledger holds
 * what they sent, and the next process follows it up. Connections that stay open are cut.
 */
async function stop(server: Server, gateway: Gateway): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
  const finished = new AbortController()
  const cutOff = async (): Promise<void> => {
    await sleep(SHUTDOWN_MS, undefined, finished)
    await gateway.close()
    await sleep(LAST_RESPONSES_MS, undefined, finished)
    server.closeAllConnections()
  }
  cutOff().catch(() => undefined)
  await closed
  clearInterval(sweep)
  finished.abort()
}
