// Which test runs in which lane. Nobody keeps a list: a lane follows from a test's folder, and from what it, or a helper
// under test/ that it imports, imports. Imports of types do not count.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const tests = join(root, 'test')

/** What the fast lane does without: modules that start a chain or another process, open a database, or load a whole gateway. */
const heavy = [
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

/** What `npm test` leaves to `npm run test:rest`: browsers, and other programs. */
const outside = [/^playwright-core$/, /^node:child_process$/]

/** Folders of tests that attack a gateway, and that break what it stands on. */
const trying = /^(hostile|faults)\//

/** Statements that import, or export from elsewhere, at least one value. */
const IMPORT = /^(?:import|export)\s+(?!type\b)(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm
const DYNAMIC_IMPORT = /\b(?:import|require)\(\s*['"]([^'"]+)['"]/g

/** Returns a function that tells whether a file under test/ reaches one of some modules. */
function reaching(modules) {
  const known = new Map()
  const leadsThere = (file, specifier) => {
    if (!specifier.startsWith('.')) return modules.some((module) => module.test(specifier))
    const path = join(dirname(file), specifier).replace(/\.(c?)js$/, '.$1ts')
    if (modules.some((module) => module.test(relative(root, path)))) return true
    return path.startsWith(tests) && existsSync(path) && reaches(path)
  }
  const reaches = (file) => {
    const found = known.get(file)
    if (found !== undefined) return found
    known.set(file, false) // for circles
    const text = readFileSync(file, 'utf8')
    const specifiers = [...text.matchAll(IMPORT), ...text.matchAll(DYNAMIC_IMPORT)]
    const result = specifiers.some(([, specifier]) => leadsThere(file, specifier))
    known.set(file, result)
    return result
  }
  return reaches
}

const every = readdirSync(tests, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && !path.startsWith('bench/'))
  .map((path) => join(tests, path))

const isHeavy = reaching(heavy)
const goesOutside = reaching(outside)
const isLong = (file) => trying.test(relative(tests, file)) || goesOutside(file)

export { root }
/** `npm run test:unit`: what needs no build, chain, database or whole gateway. */
export const unitTests = every.filter((file) => !isHeavy(file))
/** `npm test`: all but {@link restTests}. */
export const mainTests = every.filter((file) => !isLong(file))
/** `npm run test:rest`: what attacks, what breaks things, what drives a browser or starts another program. */
export const restTests = every.filter(isLong)
