import { readFile, stat } from 'node:fs/promises'
import type { OpenedConfig } from '../../../gateway/config/read/config-file.js'
import { caution, sound, type DoctorFinding } from './doctor-finding.js'

/** Bits of a file's mode that let others read it. */
const READABLE_BY_OTHERS = 0o044

const KEY = /0x[0-9a-fA-F]{64}/

/** Checks that only the owner can read files with secrets, and reports unknown variables. */
export async function checkFiles(opened: OpenedConfig): Promise<readonly DoctorFinding[]> {
  const { file, envFile, warnings } = opened
  const odd = warnings.map((message) => caution('configuration', 'unknown_variable', message))
  const hasKey = file !== undefined && KEY.test(await readFile(file, 'utf8'))
  const secret = [envFile, hasKey ? file : undefined].filter((path) => path !== undefined)
  const open = await Promise.all(secret.map(checkMode))
  return [
    sound('configuration', `The configuration is ${file ?? 'the environment'}.`),
    ...odd,
    ...open.flat(),
  ]
}

export async function checkMode(path: string): Promise<readonly DoctorFinding[]> {
  // Windows has no such modes.
  if (process.platform === 'win32') return []
  const { mode } = await stat(path)
  if ((mode & READABLE_BY_OTHERS) === 0) return []
  const message = `Other users of this machine can read ${path}, which holds secrets: chmod 600 it.`
  return [caution('configuration', 'file_readable', message)]
}
