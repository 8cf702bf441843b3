/** The packed package, as users install it. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Root of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Runs a program; resolves with what it prints. */
export const run = promisify(execFile)

/** The part of a package.json that tests read. */
export interface Manifest {
  readonly version: string
  readonly exports: Record<string, unknown>
  readonly dependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
}

/** The environment without what the npm that runs the tests has set for itself. */
export function withoutNpm(): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(config|package|lifecycle)_/i.test(name)),
  )
}

/** Runs npm as a user does. */
export async function npm(args: readonly string[], cwd: string): Promise<string> {
  const shell = process.platform === 'win32'
  const { stdout } = await run('npm', args, { cwd, env: withoutNpm(), shell })
  return stdout
}

/** Reads the package.json of a folder. */
export async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** Packs the package as it was built. @returns The path of the tarball. */
export async function pack(folder: string): Promise<string> {
  const flags = ['--ignore-scripts', '--json', '--pack-destination', folder]
  const packed = await npm(['pack', ...flags], ROOT)
  const [{ filename } = { filename: '' }] = JSON.parse(packed) as { filename: string }[]
  return join(folder, filename)
}

/** Installs packages into a folder without a package.json. */
export async function install(folder: string, packages: readonly string[]): Promise<void> {
  const manifest = { private: true, overrides: await testedVersions() }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await npm(['install', ...flags, ...packages], folder)
}

/** Our dependencies as they are installed here, so that nothing newer comes between. */
async function testedVersions(): Promise<Record<string, string>> {
  const { dependencies, optionalDependencies } = await readManifest(ROOT)
  const versions = Object.keys({ ...dependencies, ...optionalDependencies }).map(async (name) => {
    const { version } = await readManifest(join(ROOT, 'node_modules', name))
    return [name, version] as const
  })
  return Object.fromEntries(await Promise.all(versions))
}
