import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import util from 'node:util'
import { ConfigError } from '../../../shared/errors.js'
import type { Environment } from './variables.js'

/** Name of the file that `init` keeps keys in. */
export const ENV_FILE = '.env'

/** Variables of an app in the same folder, not of a gateway. */
const FOREIGN = /^(?!X402_).*DATABASE_URL$|^(PORT|HOST|NODE_.*)$/

export interface FileEnvironment {
  readonly env: Environment
  /** Absent where there is no such file. */
  readonly file?: string
}

/**
 * Adds the variables of the file `.env` in a folder to the environment, which overrides them.
 *
 * `DATABASE_URL`, `PORT`, `HOST` and `NODE_…` of the file are left alone, because they may be those of
 * an app in the same folder.
 *
 * @throws {@link ConfigError} where the file cannot be read.
 */
export async function withEnvFile(folder: string, env: Environment): Promise<FileEnvironment> {
  const file = join(folder, ENV_FILE)
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EISDIR') return { env }
    throw new ConfigError('env', `${file} cannot be read (${code ?? 'unknown'})`, 'invalid_file')
  }
  const own = Object.entries(util.parseEnv(text.replace(/^\uFEFF/, ''))).filter(
    ([name]) => !FOREIGN.test(name),
  )
  const given = Object.entries(env).filter(([, value]) => value !== undefined)
  return { env: { ...Object.fromEntries(own), ...Object.fromEntries(given) }, file }
}
