/** Writes the files of `init`, and overwrites none. */
import { existsSync } from 'node:fs'
import { constants, mkdir, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import util from 'node:util'
import { ConfigError } from '../../../shared/errors.js'

const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW } = constants

/** Reads a file and adds to it. Links are not followed. */
const APPEND = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW

export interface NewFile {
  readonly path: string
  readonly text: string
  readonly mode: number
}

/**
 * Writes files that do not exist yet: all, or none.
 *
 * @throws {@link ConfigError} naming the first file that exists, or cannot be written.
 */
export async function writeNew(files: readonly NewFile[]): Promise<void> {
  const existing = files.find(({ path }) => existsSync(path))
  if (existing !== undefined)
    throw refused(
      `${existing.path} exists: nothing was written. Move it away, and keep its key, which may hold money; or name another folder with --dir`,
    )
  const written: string[] = []
  try {
    for (const { path, text, mode } of files) {
      await mkdir(dirname(path), { recursive: true })
      // `wx`: never overwrites a file that another process created meanwhile.
      const file = await open(path, 'wx', mode)
      written.push(path)
      await file.writeFile(text)
      await file.close()
    }
  } catch (error) {
    for (const path of written) await rm(path, { force: true })
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw refused(`nothing was written: ${files[written.length]?.path} (${code})`)
  }
}

/**
 * Adds variables to a `.env`, which may have an app's own: nothing in it is changed. A link is not followed: the key
 * may not go where others read it.
 *
 * @param text - Lines of variables.
 * @returns Whether the file is new, and whether others than its owner can read it.
 * @throws {@link ConfigError} if it sets one of the variables already, or cannot be written.
 */
export async function addToEnv(
  path: string,
  text: string,
): Promise<{ readonly isNew: boolean; readonly isOpen: boolean }> {
  try {
    const file = await open(path, APPEND, 0o600)
    try {
      const before = await file.readFile('utf8')
      const set = util.parseEnv(before)
      const taken = Object.keys(util.parseEnv(text)).filter((name) => name in set)
      if (taken.length > 0)
        throw refused(
          `${path} sets ${taken.join(', ')} already: nothing was written. To replace them, comment the lines out, and keep the old relayer's key, which may hold money; or choose another folder with --dir`,
        )
      const { mode } = await file.stat()
      const gap = before === '' ? '' : before.endsWith('\n') ? '\n' : '\n\n'
      await file.appendFile(gap + text)
      return { isNew: before === '', isOpen: (mode & 0o077) !== 0 }
    } finally {
      await file.close()
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'config_invalid') throw error
    const why = code === 'ELOOP' ? 'is a link: name its own folder with --dir' : 'cannot be written'
    throw refused(`${path} ${why} (${code ?? 'unknown'})`)
  }
}

/**
 * Adds missing lines to `.gitignore`, whether or not the folder is a checkout yet.
 *
 * @returns The file, and why it could not be written.
 */
export async function ignoreFiles(
  folder: string,
  patterns: readonly string[],
): Promise<{ readonly path: string; readonly failure?: string }> {
  const path = join(folder, '.gitignore')
  try {
    // Git does not follow a link either.
    const file = await open(path, APPEND, 0o644)
    try {
      const text = await file.readFile('utf8')
      const lines = text.split('\n').map((line) => line.trim())
      // The last line that matches a file decides.
      const missing = patterns.filter(
        (pattern) => lines.lastIndexOf(pattern) <= lines.lastIndexOf(`!${pattern}`),
      )
      const isOpen = text !== '' && !text.endsWith('\n')
      if (missing.length > 0) await file.appendFile(`${isOpen ? '\n' : ''}${missing.join('\n')}\n`)
    } finally {
      await file.close()
    }
    return { path }
  } catch (error) {
    return { path, failure: (error as NodeJS.ErrnoException).code ?? 'unknown' }
  }
}

function refused(message: string): ConfigError {
  return new ConfigError('init', message, 'invalid_file')
}
