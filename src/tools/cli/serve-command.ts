import { explainTrusted } from '../../gateway/config/resolve/trust-proxy.js'
import { ConfigError } from '../../shared/errors.js'
import { visible } from '../../shared/protocol/visible-text.js'
import { EXIT, type Command, type CliContext } from './command.js'
import { portFrom, readFlags, UsageError } from './flags.js'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type RequestHandler } from 'express'
import { isLoopback, type ResolvedMetrics } from '../../gateway/config/resolve/metrics.js'
import type { Gateway } from '../../gateway/gateway.js'
import { openGateway } from '../../gateway/open-gateway.js'
import { respondProblem } from '../../shared/http/respond-problem.js'
import { describeDatabase } from '../../ledger/engine/explain-failure.js'
import type { Logger } from '../../shared/logger.js'
import { openOptions } from './open-options.js'
import { jsonLogger, logAccess, logCheck, logPayments, warnOfProxy } from './serve-log.js'

const USAGE = `Usage: express-x402-gateway serve [--config file] [--ledger file | --memory] [--port n] [--host address]
         [--access-log] [--trust-proxy proxies]

  Runs the payment gateway until SIGTERM or SIGINT. Options come from gateway.config.json, where
  \${NAME} and { "env": "NAME" } stand for environment variables, from the .env next to it, and from
  X402_* variables, which override it. Logs to standard error, one JSON object per line.

  --config       the configuration [gateway.config.json]
  --ledger       SQLite file for payments, relative to the configuration, or a postgres:// URL [data/ledger.db,
                 or the database of X402_DATABASE_URL or DATABASE_URL, which hide a password from ps]
  --memory       keeps payments in memory until the process ends
  --port         [PORT, else 4402]
  --host         [HOST, else 127.0.0.1]
  --access-log   logs a line for each request
  --trust-proxy  proxies whose X-Forwarded-For counts: how many, or their addresses and subnets, loopback,
                 linklocal or uniquelocal, separated by commas [X402_TRUST_PROXY, else loopback]`

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Runs the payment gateway.',
  usage: USAGE,
  async run(args, context) {
    const flags = readFlags(args, {
      names: ['config', 'ledger', 'port', 'host', 'trust-proxy'],
      switches: ['memory', 'access-log'],
    })
    const { config, ledger, host = context.env['HOST']?.trim() || undefined } = flags
    const memory = flags['memory'] !== undefined
    if (memory && ledger !== undefined)
      throw new UsageError('--memory and --ledger exclude each other.')
    const port = portFrom(flags['port']) ?? portOf(context)
    const accessLog = flags['access-log'] !== undefined
    const trusted = flags['trust-proxy']
    const mistake = trusted === undefined ? undefined : explainTrusted(trusted.trim())
    if (mistake !== undefined)
      throw new UsageError(`--trust-proxy '${visible(trusted ?? '')}' ${mistake}.`)
    const env = trusted === undefined ? context.env : { ...context.env, X402_TRUST_PROXY: trusted }
    await serve({ ...context, env, config, ledger, host, port, memory, accessLog })
    return EXIT.ok
  },
}

function portOf({ env }: CliContext): number | undefined {
  const text = env['PORT']?.trim()
  if (!text) return undefined
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new ConfigError('PORT', 'must be a port between 0 and 65535', 'out_of_range')
}

const DEFAULT_PORT = 4402
const DEFAULT_HOST = '127.0.0.1'

/** Longer than proxies keep idle connections (usually 60 s): a server that closes first may lose a request. */
const KEEP_ALIVE_MS = 75_000

/** How often idle connections are closed while stopping (ms). */
const SWEEP_MS = 50

/** How long connections may stay open once the gateway has closed (ms). */
const LAST_RESPONSES_MS = 500

interface ServeCommand extends CliContext {
  readonly config: string | undefined
  /** SQLite file, relative to the configuration. */
  readonly ledger: string | undefined
  readonly port: number | undefined
  readonly host: string | undefined
  readonly memory: boolean
  readonly accessLog: boolean
}

/** Runs the gateway until `signal` is aborted. Prints its URL once it listens. */
async function serve(command: ServeCommand): Promise<void> {
  const { port = DEFAULT_PORT, host = DEFAULT_HOST, print, signal } = command
  const logger = jsonLogger(command)
  const { gateway, resolved } = await startGateway(command, logger)
  let metrics: Server | undefined
  try {
    metrics = resolved.metrics && (await serveMetrics(gateway, resolved.metrics))
    const app = express()
    app.disable('x-powered-by')
    app.set('trust proxy', resolved.trustProxy)
    app.use(warnOfProxy(logger))
    app.use(
      logAccess(
        command.accessLog ? (fields) => resolved.logger.info('request', fields) : undefined,
      ),
    )
    app.use(gateway.healthRouter())
    app.use(gateway.gatewayRouter())
    app.use(gateway.discovery())
    app.use(respondNotFound)
    const server = await listen(app, { port, host })
    print(`express-x402-gateway answers on ${urlOf(server)}`)
    if (resolved.console) print(`Its console is on ${resolved.publicUrl ?? urlOf(server)}/console/`)
    if (metrics !== undefined) print(`Its metrics are on ${urlOf(metrics)}/metrics`)
    // Not awaited: the gateway serves even if a node does not answer.
    logCheck(gateway, { logger, signal }).catch((error: unknown) =>
      logger.error('The check at start failed.', { error }),
    )
    if (!signal.aborted) await once(signal, 'abort')
    logger.info('Stopping: open requests are finished first.')
    await stop(server, gateway)
  } finally {
    metrics?.close().closeAllConnections()
    await gateway.close()
  }
}

const respondNotFound: RequestHandler = (req, res) => {
  const detail = `There is no ${req.path} here; the gateway answers below /api/v2, /ucp and /discovery, and has its console at /console/ if there are admin tokens.`
  respondProblem(res, 'api', { code: 'not_found', detail })
}

async function startGateway(command: ServeCommand, logger: Logger) {
  const warn = (message: string): void => logger.warn(message)
  const { opened, named, ...rest } = await openOptions({ ...command, creates: true, warn })
  const resolved = { ...rest.resolved, logger }
  const gateway = openGateway(resolved)
  logPayments(gateway, logger)
  logger.info('Starting.', {
    configuration: opened.file ?? 'environment',
    ...(opened.envFile !== undefined && { variables: opened.envFile }),
    ledger: named === undefined ? 'memory' : describeDatabase(named.location),
  })
  return { gateway, resolved }
}

/**
 * Listens at the address of options, which have names with a prefix.
 *
 * @throws {@link ConfigError} if it cannot listen there.
 */
async function listen(
  app: express.Express,
  { port, host }: { readonly port: number; readonly host: string },
  prefix: '' | 'metrics.' = '',
): Promise<Server> {
  const server = app.listen(port, host)
  server.keepAliveTimeout = KEEP_ALIVE_MS
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE' || code === 'EACCES') {
      const why = code === 'EACCES' ? 'needs administrator rights' : 'is in use'
      const message = `${port} on ${host} ${why}; choose another${prefix ? '' : ' with --port'}`
      throw new ConfigError(`${prefix}port`, message, 'unusable_address')
    }
    const message = `cannot listen on ${host}:${port} (${code})`
    throw new ConfigError(`${prefix}host`, message, 'unusable_address')
  }
}

function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

/** Lets open requests finish, then closes the gateway, the server and remaining connections. */
async function stop(server: Server, gateway: Gateway): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
  await gateway.close()
  const patience = setTimeout(() => server.closeAllConnections(), LAST_RESPONSES_MS)
  await closed
  clearTimeout(patience)
  clearInterval(sweep)
}

function serveMetrics(
  gateway: Pick<Gateway, 'metricsRouter'>,
  { host, port, token }: ResolvedMetrics,
): Promise<Server> {
  const app = express().disable('x-powered-by')
  if (token === undefined) app.use(requireLoopbackHost)
  app.use(gateway.metricsRouter())
  return listen(app, { port, host }, 'metrics.')
}

/**
 * Refuses requests for other hosts than this machine: by DNS rebinding, any web page could read metrics
 * that need no token.
 */
const requireLoopbackHost: RequestHandler = (req, res, next) => {
  const host = req.headers.host?.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1') ?? ''
  if (isLoopback(host)) return next()
  res.status(421).type('text').send('Ask for localhost, or set a token for metrics.\n')
}
