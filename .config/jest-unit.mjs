// The fast lane: `npm run test:unit` runs what needs no build, chain, database file or whole gateway.
// Nobody keeps a list. A test is left out when it, or a helper under test/ that it imports, imports
// one of the modules below. Imports of types do not count.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import base from './jest.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const tests = join(root, 'test')

/** Modules that start a chain, a browser or another process, open a database file, or load a whole gateway. */
const slow = [
  /^node:child_process$/,
  /^(pg|kysely|@photostructure\/sqlite|playwright-core)$/,
  /^src\/tools\/devnet\/(index|start-devnet|anvil|send-batch|devnet-command)\.ts$/,
  /^src\/(tools\/testing\/index|index|gateway\/(gateway|default-gateway))\.ts$/,
  /^src\/ledger\/(sqlite-|postgres-|(?!once\/)[a-z]+\/)/,
  /^src\/tools\/cli\//,
  /^src\/sql\.ts$/,
  /^test\/ledger\/ledger-conformance\.ts$/,
  /^dist\//,
]

/** Statements that import, or export from elsewhere, at least one value. */
const IMPORT = /^(?:import|export)\s+(?!type\b)(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm
const DYNAMIC_IMPORT = /\b(?:import|require)\(\s*['"]([^'"]+)['"]/g

const known = new Map()

/** Whether a file under test/ reaches one of the slow modules. */
function isSlow(file) {
  const found = known.get(file)
  if (found !== undefined) return found
  known.set(file, false) // for circles
  const text = readFileSync(file, 'utf8')
  const specifiers = [...text.matchAll(IMPORT), ...text.matchAll(DYNAMIC_IMPORT)]
  const result = specifiers.some(([, specifier]) => leadsToSlow(file, specifier))
  known.set(file, result)
  return result
}

function leadsToSlow(file, specifier) {
  if (!specifier.startsWith('.')) return slow.some((module) => module.test(specifier))
  const path = join(dirname(file), specifier).replace(/\.(c?)js$/, '.$1ts')
  if (slow.some((module) => module.test(relative(root, path)))) return true
  return path.startsWith(tests) && existsSync(path) && isSlow(path)
}

const unitTests = readdirSync(tests, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => join(tests, path))
  .filter((file) => !isSlow(file))

export default {
  ...base,
  rootDir: root,
  testMatch: unitTests,
  // Another process would load everything again.
  maxWorkers: 1,
  workerIdleMemoryLimit: undefined,
}
