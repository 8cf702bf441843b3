import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import express, { type RequestHandler } from 'express'
import { databaseVariable, SERVE_DATABASE, type Environment } from '../config/environment.js'
import { ConfigError, isLedgerError } from '../errors.js'
import { createGateway, type Gateway } from '../gateway.js'
import type { LedgerStore } from '../ledger/ledger.js'
import { createMemoryLedger } from '../ledger/memory-ledger.js'
import { openSqliteLedger } from '../ledger/sql/sqlite-ledger.js'
import type { Logger } from '../logger.js'
import { PROBLEM_JSON, problemDetails } from '../http/problem.js'
import { resolveOptions } from '../config/resolve.js'
import type { CliContext } from './cli.js'
import { withConfig } from '../config/config-file.js'

const DEFAULT_PORT = 4402
const DEFAULT_HOST = '127.0.0.1'

/** Where payments are kept, beneath the folder that the command runs in. */
const LEDGER_FILE = join('data', 'ledger.db')

/** Milliseconds that requests are given to finish, once told to end. */
const FAREWELL_MS = 10_000

/** Milliseconds between looks for connections whose request has been answered since. */
const SWEEP_MS = 50

/** Milliseconds in which those that did not are told that their outcome is unknown. */
const LAST_ANSWERS_MS = 500

/** What `serve` was called with. */
export interface ServeCommand extends CliContext {
  readonly config: string | undefined
  readonly port: number | undefined
  readonly host: string | undefined
  /** Keep nothing beyond the process. */
  readonly memory: boolean
}

/** Runs the gateway until it is ended; prints its URL once it answers. */
export async function serve(command: ServeCommand): Promise<void> {
  const { port = DEFAULT_PORT, host = DEFAULT_HOST, print, signal } = command
  const gateway = await openGateway(command)
  try {
    const app = express()
    app.disable('x-powered-by')
    // A reverse proxy on the same machine may say whose request it is; nobody else may.
    app.set('trust proxy', 'loopback')
    app.use((_req, res, next) => {
      // A connection that is kept alive would bring requests for as long as it is.
      if (signal.aborted) res.set('Connection', 'close')
      next()
    })
    app.use(gateway.gatewayRouter())
    app.use(answerNotFound)
    const server = await listen(app, { port, host })
    print(`express-x402-gateway answers on ${urlOf(server)}`)
    if (!signal.aborted) await once(signal, 'abort')
    await stop(server, gateway)
  } finally {
    await gateway.close()
  }
}

/** Answers what is not the gateway's: nothing else is here. */
const answerNotFound: RequestHandler = (req, res) => {
  const detail = `There is no ${req.path} here; the gateway answers below /api/v2 and /ucp.`
  const problem = problemDetails({ status: 404, code: 'not_found', detail })
  res.status(404).set({ 'Content-Type': PROBLEM_JSON, 'Cache-Control': 'no-store' })
  res.end(JSON.stringify(problem))
}

/** Opens a gateway whose ledger can be written to. */
async function openGateway(command: ServeCommand): Promise<Gateway> {
  const { cwd, memory } = command
  const env = memory ? withoutDatabase(command.env) : command.env
  const logger = createLogger(command)
  const options = await withConfig({ ...command, env }, (given) => {
    resolveOptions(given)
    const ledger =
      (given.ledger as LedgerStore | undefined) ??
      (memory ? createMemoryLedger() : embeddedLedger(cwd))
    return { ...given, ledger, logger }
  })
  await requireUsable(options.ledger, databaseVariable(env, SERVE_DATABASE) ?? 'ledger')
  return createGateway(options)
}

function withoutDatabase(env: Environment): Environment {
  return { ...env, ...Object.fromEntries(SERVE_DATABASE.map((name) => [name, undefined])) }
}

function embeddedLedger(cwd: string): LedgerStore {
  try {
    return openSqliteLedger(join(cwd, LEDGER_FILE))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const hint = 'or start with --memory, and no payment is remembered after the process has ended'
    throw new ConfigError(error.option, `${error.issues[0]?.message}, ${hint}`)
  }
}

async function requireUsable(ledger: LedgerStore, option: string): Promise<void> {
  try {
    await ledger.listSubmitted()
  } catch (error) {
    await ledger.close()
    if (!isLedgerError(error)) throw error
    const reason = error.cause instanceof Error ? error.cause.message : error.code
    throw new ConfigError(option, `the ledger’s database cannot be used (${reason})`)
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

/** One line of JSON; an error gives its message and that of its cause, which hold no secrets. */
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
    if (code === 'EADDRINUSE')
      throw new ConfigError('port', `${port} on ${host} is in use; choose another with --port`)
    throw new ConfigError('host', `cannot listen on ${host}:${port} (${code ?? 'unknown'})`)
  }
}

function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

/**
 * Lets requests finish. Those that take too long are answered by what is known by then; what they
 * sent is written down, and followed up by the next process. Whoever still holds on is cut off.
 */
async function stop(server: Server, gateway: Gateway): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
  const patience = new AbortController()
  const farewell = async (): Promise<void> => {
    await sleep(FAREWELL_MS, undefined, patience)
    await gateway.close()
    await sleep(LAST_ANSWERS_MS, undefined, patience)
    server.closeAllConnections()
  }
  farewell().catch(() => undefined)
  await closed
  clearInterval(sweep)
  patience.abort()
}
