import { existsSync } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigError } from '../../../shared/errors.js'

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

function refused(message: string): ConfigError {
  return new ConfigError('init', message, 'invalid_file')
}
