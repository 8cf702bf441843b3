import type { Environment } from '../config/read/environment.js'

/** The part of its process that a command may use. */
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
  /** Writes a part of the result. @returns Resolves once more may be written. */
  readonly write: (text: string) => Promise<void>
  /** Shows the progress of a command in place of what it showed before; absent without a terminal. */
  readonly showProgress?: ((line: string) => void) | undefined
  /** Whether what is printed may have colours. */
  readonly colors?: boolean | undefined
  /** Whether the result goes to a file or another program. */
  readonly isRedirected?: boolean | undefined
  /** Asks a person for one line; absent without a terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined
}
