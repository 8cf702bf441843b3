import { constants, open } from 'node:fs/promises'
import { join } from 'node:path'

const FILE = '.gitignore'

/**
 * Adds missing lines to `.gitignore`, whether or not the folder is a checkout yet.
 *
 * @returns The file, and why it could not be written.
 */
export async function ignoreFiles(
  folder: string,
  patterns: readonly string[],
): Promise<{ readonly path: string; readonly failure?: string }> {
  const path = join(folder, FILE)
  const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW } = constants
  try {
    // Git does not follow a link either.
    const file = await open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0o644)
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
