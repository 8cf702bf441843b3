import { isConfigError } from '../../shared/errors.js'
import { closestName } from '../../shared/protocol/did-you-mean.js'
import { visibleLines } from '../../shared/protocol/visible-text.js'
import { EXIT, type Command, type ExitCode, type CliContext } from './command.js'
import { deployExecutorCommand } from './deploy-executor-command.js'
import { devnetCommand } from './devnet-command.js'
import { doctorCommand } from './doctor-command.js'
import { UsageError } from './flags.js'
import { initCommand } from './init-command.js'
import { ledgerCommand } from './ledger-command.js'
import { listenCommand } from './listen-command.js'
import { payCommand } from './pay-command.js'
import { serveCommand } from './serve-command.js'
import { tokenCommand } from './token-command.js'
import { triggerCommand } from './trigger-command.js'
import { tryCommand } from './try-command.js'
import { verifyReceiptCommand } from './verify-receipt-command.js'
import { ownPackage } from '../../shared/http/own-package.cjs'

const COMMANDS: readonly Command[] = [
  tryCommand,
  initCommand,
  doctorCommand,
  serveCommand,
  payCommand,
  devnetCommand,
  listenCommand,
  triggerCommand,
  ledgerCommand,
  deployExecutorCommand,
  tokenCommand,
  verifyReceiptCommand,
]

const USAGE = `Usage: express-x402-gateway <command>

${COMMANDS.map(({ name, summary }) => `  ${name.padEnd(17)}${summary}`).join('\n')}

  <command> --help explains a command, and --version prints the version.`

/**
 * Runs one command and reports what went wrong to `complain`.
 *
 * @param argv - The arguments after the name of the program.
 * @returns The exit code.
 */
export async function runCli(argv: readonly string[], context: CliContext): Promise<ExitCode> {
  try {
    return await runCommand(argv, context)
  } catch (error) {
    // Messages may quote a server, a file or an argument.
    const complain = (text: string): void => context.complain(visibleLines(text))
    if (error instanceof UsageError) {
      complain(`${error.message}\n${argv.length === 0 ? USAGE : helpFor(argv)}`)
      return EXIT.misused
    }
    if (isConfigError(error))
      for (const { option, message } of error.issues) complain(`${option}: ${message}`)
    else complain(error instanceof Error ? error.message : String(error))
    return EXIT.failed
  }
}

async function runCommand(argv: readonly string[], context: CliContext): Promise<ExitCode> {
  const [name, ...args] = argv
  const command = COMMANDS.find((one) => one.name === name)
  if (command !== undefined && !asksForHelp(args)) return command.run(args, context)
  if (name === undefined) throw new UsageError('A command is missing.')
  if (name === '--version' || name === '-v') context.print(ownPackage.version ?? 'unknown')
  else if (command !== undefined || asksForHelp([name])) context.print(usageOf(argv) ?? USAGE)
  else if (name === 'help') context.print(usageOf(args) ?? USAGE)
  else throw new UsageError(`There is no command '${name}'${suggestion(name)}`)
  return EXIT.ok
}

function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h')
}

/** Usage of the command that the first word names; `undefined` if it names none. */
function usageOf([name, ...args]: readonly string[]): string | undefined {
  const usage = COMMANDS.find((one) => one.name === name)?.usage
  return typeof usage === 'function' ? usage(args) : usage
}

function helpFor([name, word = '']: readonly string[]): string {
  const command = COMMANDS.find((one) => one.name === name)
  const hasWord = command !== undefined && usageOf([command.name, word]) !== usageOf([command.name])
  const words = [command?.name, hasWord ? word : undefined].filter((one) => one !== undefined)
  return `Help: ${['express-x402-gateway', ...words].join(' ')} --help`
}

function suggestion(name: string): string {
  const meant = closestName(
    name,
    COMMANDS.map((one) => one.name),
  )
  return meant === undefined ? '.' : `; did you mean '${meant}'?`
}
