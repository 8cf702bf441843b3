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
  /** Writes a part of the result. @returns Once more of it may be written. */
  readonly write: (text: string) => Promise<void>
  /** Shows how far a command is, over what it showed before; absent where nobody looks. */
  readonly showProgress?: ((line: string) => void) | undefined
  /** Whether what is printed may have colours. */
  readonly colors?: boolean | undefined
  /** Whether the result goes to a file or another program, so that nobody sees it. */
  readonly isRedirected?: boolean | undefined
  /** Asks a person for one line; absent where nobody sits at a terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined
}
