import { parseArgs, type ParseArgsConfig } from 'node:util'
import { runDevnetCommand } from '../devnet/devnet-command.js'
import { isConfigError } from '../errors.js'
import { createToken, hashToken } from '../merchants/project.js'
import type { CliContext } from './context.js'
import { serve } from './serve.js'

const USAGE = `Usage: express-x402-gateway <command>

  serve [--config file] [--port 4402] [--host 127.0.0.1] [--memory]
      Runs the payment gateway, from gateway.config.json and X402_* variables. Payments are kept in
      ./data/ledger.db, or in the PostgreSQL of X402_DATABASE_URL or DATABASE_URL; with --memory in neither.
  devnet [--port n] [--block-time seconds]
      Runs a local chain with a token, funded payers, relayers and a merchant.
  token
      Makes a random identify token and its sha256: form.`

/** Exit codes. */
const OK = 0
const FAILED = 1
const MISUSED = 2

/** A command line that cannot be understood. */
class UsageError extends Error {}

/**
 * Runs one command and reports what went wrong to `complain`.
 *
 * @param argv - The arguments after the name of the program.
 * @returns The exit code.
 */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  try {
    await runCommand(argv, context)
    return OK
  } catch (error) {
    if (error instanceof UsageError) {
      context.complain(`${error.message}\n\n${USAGE}`)
      return MISUSED
    }
    if (isConfigError(error))
      for (const { option, message } of error.issues) context.complain(`${option}: ${message}`)
    else context.complain(error instanceof Error ? error.message : String(error))
    return FAILED
  }
}

async function runCommand(argv: readonly string[], context: CliContext): Promise<void> {
  const [command, ...args] = argv
  if (args.includes('--help') || args.includes('-h')) return context.print(USAGE)
  switch (command) {
    case 'serve': {
      const { memory, ...flags } = readFlags(args, ['config', 'port', 'host'], ['memory'])
      const port = portFrom(flags['port'])
      const { config, host } = flags
      return serve({ ...context, config, port, host, memory: memory !== undefined })
    }
    case 'devnet': {
      const flags = readFlags(args, ['port', 'block-time'])
      const port = portFrom(flags['port'])
      const blockTime = numberFrom('block-time', flags['block-time'])
      return runDevnetCommand({
        ...(port !== undefined && { port }),
        ...(blockTime !== undefined && { blockTime }),
        write: context.print,
        signal: context.signal,
      })
    }
    case 'token': {
      readFlags(args, [])
      return printToken(context)
    }
    case 'help':
    case '--help':
    case '-h':
      return context.print(USAGE)
    case undefined:
      throw new UsageError('A command is missing.')
    default:
      throw new UsageError(`There is no command '${command}'.`)
  }
}

function printToken({ print, complain }: CliContext): void {
  const token = createToken()
  complain('The token, for the shop’s server (it is not shown again), and its hash, for `tokens`:')
  print(token)
  print(hashToken(token))
}

/** Reads the flags that were given; a switch has no value. */
function readFlags(
  args: readonly string[],
  names: readonly string[],
  switches: readonly string[] = [],
) {
  const options: ParseArgsConfig['options'] = Object.fromEntries([
    ...names.map((name) => [name, { type: 'string' }]),
    ...switches.map((name) => [name, { type: 'boolean' }]),
  ])
  try {
    const { values } = parseArgs({ args: [...args], options, allowPositionals: false })
    return values as Readonly<Record<string, string | undefined>>
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function numberFrom(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value)) return value
  throw new UsageError(`--${flag} takes a number, not '${text}'.`)
}

function portFrom(text: string | undefined): number | undefined {
  const port = numberFrom('port', text)
  if (port === undefined || (Number.isInteger(port) && port >= 0 && port <= 65_535)) return port
  throw new UsageError(`--port takes a port between 0 and 65535, not '${text}'.`)
}
