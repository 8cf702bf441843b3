import { accessSync, constants, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { ConfigError } from '../../shared/errors.js'
import { ownPackage } from '../../shared/http/own-package.cjs'

/** Where to look for anvil. Only tests change the defaults. */
export interface FindAnvilOptions {
  /**
   * Files or folders from which `@foundry-rs/anvil` is resolved, as `require` does.
   * @defaultValue the running script, then the working directory, then this package
   */
  readonly from?: readonly string[]
  /**
   * Folders that are searched next, separated as in `PATH`.
   * @defaultValue the environment variable `PATH`
   */
  readonly path?: string
}

/** Go's processor names, as in the names of anvil's packages. */
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' }

const PLATFORM_PACKAGE = `@foundry-rs/anvil-${process.platform}-${ARCHITECTURES[process.arch] ?? process.arch}`

const EXECUTABLE = process.platform === 'win32' ? 'anvil.exe' : 'anvil'

/**
 * Finds the anvil binary: in the npm package `@foundry-rs/anvil`, else on the `PATH`.
 *
 * Never the package's launcher script, which npm also puts on the `PATH`: a killed launcher can leave
 * anvil running, and without the package of this platform it ends in a stack trace.
 *
 * @returns The path of the executable.
 * @throws {@link ConfigError} that names the package to install.
 */
export function findAnvil({
  from = startingPoints(),
  path = process.env.PATH ?? '',
}: FindAnvilOptions = {}): string {
  const launchers = from.flatMap((place) => resolveIn(place, '@foundry-rs/anvil/package.json'))
  const candidates = [
    ...launchers.flatMap(platformBinary),
    ...path.split(delimiter).map((folder) => folder && join(folder, EXECUTABLE)),
  ]
  const binary = candidates.find((file) => isExecutable(file) && !isLauncher(file))
  if (binary) return binary
  const message =
    launchers.length > 0
      ? `@foundry-rs/anvil is installed without its binary for this platform: npm install --save-dev ${PLATFORM_PACKAGE}`
      : 'the local chain needs anvil, which is not installed: npm install --save-dev @foundry-rs/anvil'
  throw new ConfigError('devnet', message, 'missing_package')
}

// The app's script and folder: anvil is a dependency of the app. With `npx` or workspaces, it is beside this package.
function startingPoints(): string[] {
  const script = process.argv[1]
  const folders = [process.cwd(), ownPackage.folder].filter((folder) => folder !== undefined)
  const manifests = folders.map((folder) => join(folder, 'package.json'))
  return script ? [realPath(script), ...manifests] : manifests
}

function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

function platformBinary(launcher: string): string[] {
  const manifests = resolveIn(launcher, `${PLATFORM_PACKAGE}/package.json`)
  return manifests.map((manifest) => join(dirname(manifest), 'bin', EXECUTABLE))
}

/** Resolves a file as `require` in another file does; empty if there is none. */
function resolveIn(from: string, file: string): string[] {
  try {
    return [createRequire(from).resolve(file)]
  } catch {
    return []
  }
}

/** On Windows, launchers have other names. */
function isLauncher(file: string): boolean {
  return /[\\/](@foundry-rs[\\/]anvil|node_modules[\\/]\.bin)[\\/]/.test(realPath(file))
}

function isExecutable(file: string): boolean {
  if (!file) return false
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
