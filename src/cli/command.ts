import type { CliContext } from './context.js'

/** Exit codes. */
export const EXIT = { ok: 0, failed: 1, misused: 2 } as const

/** One of {@link EXIT}. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** A command of the program. */
export interface Command {
  readonly name: string
  /** What it does, in one line. */
  readonly summary: string
  /** What `--help` prints; of a command with commands of its own, by its arguments. */
  readonly usage: string | ((args: readonly string[]) => string)
  /**
   * Runs the command.
   *
   * @param args - The arguments after its name.
   * @returns The exit code.
   */
  readonly run: (args: readonly string[], context: CliContext) => Promise<ExitCode>
}
