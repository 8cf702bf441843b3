import { explainTrusted } from '../../gateway/config/resolve/trust-proxy.js'
import { ConfigError } from '../../shared/errors.js'
import { visible } from '../../shared/protocol/visible-text.js'
import { EXIT, type Command } from './command.js'
import type { CliContext } from './context.js'
import { portFrom, readFlags, UsageError } from './flags.js'
import { serve } from './serve.js'

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

/** The port of the environment variable `PORT`. */
function portOf({ env }: CliContext): number | undefined {
  const text = env['PORT']?.trim()
  if (!text) return undefined
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new ConfigError('PORT', 'must be a port between 0 and 65535', 'out_of_range')
}
