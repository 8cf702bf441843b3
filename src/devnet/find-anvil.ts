import { accessSync, constants, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { ConfigError } from '../errors.js'

/** Where to look for anvil. Only tests change the defaults. */
export interface FindAnvilOptions {
  /**
   * Files or folders from which `@foundry-rs/anvil` is resolved, as `require` does.
   * @defaultValue the running script, then the working directory
   */
  readonly from?: readonly string[]
  /**
   * Folders that are searched next, separated as in `PATH`.
   * @defaultValue the environment variable `PATH`
   */
  readonly path?: string
}

/** Processor names in anvil's package names, which are Go's. */
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' }

const EXECUTABLE = process.platform === 'win32' ? 'anvil.exe' : 'anvil'

/**
 * Finds the anvil binary: in the npm package `@foundry-rs/anvil`, else on the `PATH`.
 *
 * It returns the binary, not the package's launcher script: a killed launcher can leave anvil running.
 *
 * @returns The path of the executable.
 * @throws {@link ConfigError} that names the package to install, when there is none.
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
    'missing_package',
  )
}

// The app's script and folder, because anvil is a dependency of the app. The location of this module
// would not help, and is written differently in ES modules and CommonJS.
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
