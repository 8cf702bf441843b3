// Compares the public API of each entry point of the package with its report in .config/api; with
// --write, writes the reports. What is wrong with the API itself is an error in both: a name without
// documentation, a type that no entry point exports, a link that leads nowhere.
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'

const localBuild = process.argv.includes('--write')
const root = fileURLToPath(new URL('..', import.meta.url))
const shared = join(root, '.config/api-extractor.json')
const packageJson = join(root, 'package.json')
const built = join(root, 'dist/esm')
const { name, exports } = JSON.parse(readFileSync(packageJson, 'utf8'))

const entries = Object.entries(exports)
  .filter(([, target]) => typeof target === 'object')
  .map(([subPath, target]) => ({
    specifier: posix.join(name, subPath),
    declarations: posix.relative('./dist/esm', target.import.types),
    reportFileName: `${subPath === '.' ? name : posix.basename(subPath)}.api.md`,
  }))

/**
 * Lets entry points import each other by the package's name, from below node_modules. For API
 * Extractor that is another package: what it exports needs no second export, and has its own report.
 */
const installed = join(root, 'node_modules/.cache/api-extractor/installed')
cpSync(built, installed, { recursive: true })
const paths = Object.fromEntries(
  entries.map(({ specifier, declarations }) => [specifier, [join(installed, declarations)]]),
)

/** The declarations, importing by name. */
const analysed = mkdtempSync(join(root, '.dist-'))
process.on('exit', () => rmSync(analysed, { recursive: true }))
for (const file of readdirSync(built, { recursive: true }).filter((path) =>
  path.endsWith('.d.ts'),
)) {
  const text = readFileSync(join(built, file), 'utf8')
  const byName = text.replaceAll(/(?<=from ')(\.[^']+)\.js(?=')/g, (specifier, path) => {
    const target = `${posix.join(posix.dirname(file), path)}.d.ts`
    return entries.find(({ declarations }) => declarations === target)?.specifier ?? specifier
  })
  mkdirSync(join(analysed, posix.dirname(file)), { recursive: true })
  writeFileSync(join(analysed, file), byName)
}

/** @returns Whether the API of an entry point is sound, and that of its report. */
function check({ declarations, reportFileName }) {
  const configObject = ExtractorConfig.loadFile(shared)
  configObject.mainEntryPointFilePath = join(analysed, declarations)
  configObject.apiReport.reportFileName = reportFileName
  const { overrideTsconfig } = configObject.compiler
  overrideTsconfig.files = [join(analysed, declarations)]
  overrideTsconfig.compilerOptions.paths = paths
  const config = ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: shared,
    packageJsonFullPath: packageJson,
  })
  const { succeeded } = Extractor.invoke(config, {
    localBuild,
    printApiReportDiff: true,
    messageCallback: (message) => {
      // The version of the compiler, for each entry point.
      if (message.logLevel === ExtractorLogLevel.Info) message.handled = true
    },
  })
  return succeeded
}

for (const entry of entries)
  if (!check(entry)) {
    console.error(`${entry.specifier} is not as .config/api/${entry.reportFileName}, or unsound.`)
    process.exitCode = 1
  }
