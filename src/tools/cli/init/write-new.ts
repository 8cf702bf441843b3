import { existsSync } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
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
 * @param force - Moves existing files aside first: an old key may still hold money.
 * @returns Where existing files were moved to.
 * @throws {@link ConfigError} naming the first file that exists, or cannot be written.
 */
export async function writeNew(
  files: readonly NewFile[],
  { force }: { readonly force: boolean },
): Promise<readonly string[]> {
  const existing = files.map(({ path }) => path).filter((path) => existsSync(path))
  const [first] = existing
  if (first !== undefined && !force)
    throw refused(
      `${first} exists: nothing was written; --force moves it aside, --dir names another folder`,
    )
  const suffix = `.old-${new Date().toISOString().replaceAll(/[-:]|\..*/g, '')}`
  for (const path of existing) await rename(path, `${path}${suffix}`)
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
    for (const path of existing) await rename(`${path}${suffix}`, path)
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw refused(`nothing was written: ${files[written.length]?.path ?? first} (${code})`)
  }
  return existing.map((path) => `${path}${suffix}`)
}

function refused(message: string): ConfigError {
  return new ConfigError('init', message, 'invalid_file')
}
