import { open, type FileHandle } from 'node:fs/promises'
import { ConfigError } from '../../shared/errors.js'

/** Marks a file that a later run may overwrite. */
const FIRST_LINE = '# Written by express-x402-gateway devnet, which overwrites it.'

/**
 * A file that is overwritten only if this program wrote it: the name may be that of a file with secrets.
 *
 * Every method throws {@link ConfigError} if the file exists and another program wrote it.
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

  /** Writes the file, readable by its owner only. */
  async write(text: string): Promise<void> {
    // `wx`: overwrites no file that was created meanwhile, and follows no link.
    const file = (await this.#open()) ?? (await open(this.#path, 'wx', 0o600).catch(this.#refuse))
    try {
      await file.chmod(0o600)
      await file.truncate()
      await file.write(`${FIRST_LINE}\n${text}\n`, 0)
    } finally {
      await file.close()
    }
  }

  /** Opens the file if it exists, and checks on the same handle who wrote it. */
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
      'was not written by this command and will not be overwritten: choose another file, like --env devnet.env',
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
