import type { CliContext } from './context.js'

export const EXIT = { ok: 0, failed: 1, misused: 2 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export interface Command {
  readonly name: string
  readonly summary: string
  /** Text of `--help`; a command with subcommands chooses it by its arguments. */
  readonly usage: string | ((args: readonly string[]) => string)
  /** Runs the command with the arguments after its name. */
  readonly run: (args: readonly string[], context: CliContext) => Promise<ExitCode>
}
