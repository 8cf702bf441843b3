import type { Environment } from '../../gateway/config/read/variables.js'

export interface CliContext {
  readonly env: Environment
  /** File names are relative to this folder. */
  readonly cwd: string
  /** Ends commands that keep running. */
  readonly signal: AbortSignal
  /** Writes one line of the result. */
  readonly print: (line: string) => void
  /** Writes one line for people. */
  readonly complain: (line: string) => void
  /** Writes a part of the result. Resolves when more can be written. */
  readonly write: (text: string) => Promise<void>
  /** Replaces the progress line; absent without a terminal. */
  readonly showProgress?: ((line: string) => void) | undefined
  readonly colors?: boolean | undefined
  /** Set if the result goes to a file or another program. */
  readonly isRedirected?: boolean | undefined
}

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
