import { accessSync, constants, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { ConfigError } from '../errors.js'

/** Where to look for anvil. The defaults are right for everything but tests. */
export interface FindAnvilOptions {
  /**
   * Files or folders from which `@foundry-rs/anvil` is resolved, as `require` there would.
   * @defaultValue the running script, then the working directory
   */
  readonly from?: readonly string[]
  /**
   * The folders searched for an `anvil` after that, separated as in `PATH`.
   * @defaultValue the environment variable `PATH`
   */
  readonly path?: string
}

/** anvil's packages are named as Go names processors. */
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' }

const EXECUTABLE = process.platform === 'win32' ? 'anvil.exe' : 'anvil'

/**
 * Finds the anvil binary: in the npm package `@foundry-rs/anvil`, else on the `PATH`.
 *
 * The binary itself, not the package's launcher script: killing the launcher can leave anvil behind.
 *
 * @returns The path of the executable.
 * @throws ConfigError - Naming the package to install, when there is none.
 */
export function findAnvil({
  from = startingPoints(),
  path = process.env.PATH ?? '',
}: FindAnvilOptions = {}): string {
  const candidates = [
    ...from.map(packagedBinary),
    ...path.split(delimiter).map((folder) => folder && join(folder, EXECUTABLE)),
  ]
  const binary = candidates.find(isExecutable)
  if (binary) return binary
  throw new ConfigError(
    'devnet',
    'the local chain needs anvil, which is not installed: npm install --save-dev @foundry-rs/anvil',
  )
}

// Not the place of this module: that is spelled differently in ES modules and CommonJS, and the
// package is a dependency of the app, whose script or folder these are.
function startingPoints(): string[] {
  const script = process.argv[1]
  const folder = join(process.cwd(), 'package.json')
  return script ? [realPath(script), folder] : [folder]
}

function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

function packagedBinary(from: string): string | undefined {
  const architecture = ARCHITECTURES[process.arch] ?? process.arch
  const name = `@foundry-rs/anvil-${process.platform}-${architecture}`
  try {
    const launcher = createRequire(from).resolve('@foundry-rs/anvil/package.json')
    const manifest = createRequire(launcher).resolve(`${name}/package.json`)
    return join(dirname(manifest), 'bin', EXECUTABLE)
  } catch {
    return undefined
  }
}

function isExecutable(file: string | undefined): file is string {
  if (!file) return false
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
