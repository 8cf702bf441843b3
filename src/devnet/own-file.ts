import { open, type FileHandle } from 'node:fs/promises'
import { ConfigError } from '../errors.js'

/** The line by which a later run knows that it may overwrite a file. */
const FIRST_LINE = '# Written by express-x402-gateway devnet, which overwrites it.'

/**
 * A file that only this program writes: its name may be that of somebody's secrets, like `.env`.
 *
 * Every method throws {@link ConfigError} if the file exists, and this program has not written it.
 */
export class OwnFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** Checks that the file may be written. */
  async check(): Promise<void> {
    await (await this.#open())?.close()
  }

  /** Writes the file, for its owner's eyes only. */
  async write(text: string): Promise<void> {
    // `wx`: a file that was made meanwhile is not overwritten, and no link is followed.
    const file = (await this.#open()) ?? (await open(this.#path, 'wx', 0o600).catch(this.#refuse))
    try {
      await file.chmod(0o600)
      await file.truncate()
      await file.write(`${FIRST_LINE}\n${text}\n`, 0)
    } finally {
      await file.close()
    }
  }

  /** Opens the file if it exists, and checks on the same handle whose it is. */
  async #open(): Promise<FileHandle | undefined> {
    const file = await open(this.#path, 'r+').catch((error: unknown) =>
      (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : this.#refuse(error),
    )
    if (file === undefined) return undefined
    const start = Buffer.alloc(FIRST_LINE.length)
    await file.read(start, 0, start.length, 0)
    if (start.toString('utf8') === FIRST_LINE) return file
    await file.close()
    throw this.#refused(
      'was not written by this command, and is left as it is: name another file, like --env devnet.env',
    )
  }

  readonly #refuse = (error: unknown): never => {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw this.#refused(`cannot be written (${code})`)
  }

  #refused(what: string): ConfigError {
    return new ConfigError('env', `${this.#path} ${what}`, 'invalid_file')
  }
}
