import type { Environment } from '../config/environment.js'

/** What a command may use of the process it runs in. */
export interface CliContext {
  readonly env: Environment
  /** Folder that file names are relative to. */
  readonly cwd: string
  /** Ends commands that keep running. */
  readonly signal: AbortSignal
  /** Writes one line of the result. */
  readonly print: (line: string) => void
  /** Writes one line for people. */
  readonly complain: (line: string) => void
}
