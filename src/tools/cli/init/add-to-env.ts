import { constants, open } from 'node:fs/promises'
import util from 'node:util'
import { ConfigError } from '../../../shared/errors.js'

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
  const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW } = constants
  try {
    const file = await open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
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

function refused(message: string): ConfigError {
  return new ConfigError('init', message, 'invalid_file')
}
