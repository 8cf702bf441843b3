// Builds the package twice, as ESM and as CommonJS: files for the entry points, for what they share, and
// for what src/gateway/README.md says is loaded later; and the declarations that the entry points lead to. Each copy of the sources is
// checked beside a package.json that tells its format, so that dependencies are resolved as users of
// that format resolve them. The code keeps its names and lines, but no comments, which would be half
// of it; the declarations keep theirs. A build that fails keeps the last dist.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { buildAgents } from './build-agents.mjs'
import { buildConsole } from './build-console.mjs'
import { buildPaywall } from './build-paywall.mjs'
import { buildDocs } from './build-docs.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const tsc = join(root, 'node_modules/typescript/bin/tsc')

const publicEntries = ['index', 'mcp', 'sql', 'tools/devnet/index', 'tools/testing/index']

/** The command line is an ES module only: nobody requires it. */
const formats = {
  esm: { type: 'module', entries: [...publicEntries, 'tools/cli/bin'] },
  cjs: { type: 'commonjs', entries: publicEntries },
}

/** CommonJS in both builds. */
const commonJs = [
  'sell/paywall/texts/translations',
  'api/checkouts/ucp/templates',
  'shared/crypto/load-peer',
  'shared/http/own-package',
]

/**
 * Modules that are loaded on first use, in a file of their own. Whatever they read while loading, and nothing else
 * imports, belongs into it: otherwise this file and the main one import each other, which {@link refuseCircles} finds.
 */
const lazy = [{ name: 'openapi', test: /\/src\/api\/(?:openapi|documents|serve\/fixed-parts)[./]/ }]

const compilerOptions = {
  noEmit: false,
  emitDeclarationOnly: true,
  declaration: true,
  stripInternal: true,
  paths: {},
}

async function compile(staging, format) {
  const { type, entries } = formats[format]
  const sources = join(staging, `src-${format}`)
  const folder = join(staging, format)
  const manifest = `${JSON.stringify({ type })}\n`
  await cp(join(root, 'src'), sources, { recursive: true })
  await writeFile(join(sources, 'package.json'), manifest)
  const files = entries.map((name) => `${name}.ts`)
  const tsconfig = { extends: '../../tsconfig.json', compilerOptions, files, include: [] }
  await writeFile(join(sources, 'tsconfig.json'), JSON.stringify(tsconfig))
  const compiler = spawn(process.execPath, [tsc, '--project', sources], { stdio: 'inherit' })
  const [exitCode] = await once(compiler, 'exit')
  if (exitCode !== 0) throw new Error(`The ${format} build failed.`)

  await bundle(folder, format, entries)
  await keepDeclarations(sources, folder)
  await writeFile(join(folder, 'package.json'), manifest)
  await cp(
    join(root, 'src/api/checkouts/ucp/gateway.md'),
    join(folder, 'api/checkouts/ucp/gateway.md'),
  )
  await rm(sources, { recursive: true })
}

async function bundle(dir, format, entries) {
  const input = (names, extension) =>
    Object.fromEntries(names.map((name) => [name, join(root, `src/${name}${extension}`)]))
  const common = {
    platform: 'node',
    transform: { target: 'es2022' },
    // Otherwise each module is announced by a comment.
    experimental: { attachDebugInfo: 'none' },
  }
  const output = { dir, comments: false, esModule: true }
  const [{ output: chunks }] = await build([
    {
      ...common,
      input: input(entries, '.ts'),
      external: [/^[^./]/, /\.cjs$/],
      preserveEntrySignatures: 'allow-extension',
      output: {
        ...output,
        format,
        chunkFileNames: '[name].js',
        codeSplitting: { groups: lazy, includeDependenciesRecursively: false },
      },
    },
    // Each by itself: a file that they share would be called as one of those above.
    ...commonJs.map((name) => ({
      ...common,
      input: input([name], '.cts'),
      external: /^[^./]/,
      output: { ...output, format: 'cjs', entryFileNames: '[name].cjs' },
    })),
  ])
  refuseCircles(chunks)
}

/** Two files that import each other find each other's constants undefined. */
function refuseCircles(chunks) {
  const importsOf = new Map(chunks.map(({ fileName, imports = [] }) => [fileName, imports]))
  const visit = (file, path) => {
    if (path.includes(file))
      throw new Error(`Files import each other: ${[...path, file].join(' > ')}`)
    for (const next of importsOf.get(file) ?? []) visit(next, [...path, file])
  }
  for (const file of importsOf.keys()) visit(file, [])
}

/** Copies the declarations of the entry points, and those that they import. */
async function keepDeclarations(sources, folder) {
  const names = new Set(publicEntries.map((name) => `${name}.d.ts`))
  // The set grows while it is gone through.
  for (const name of names) {
    const text = await readFile(join(sources, name), 'utf8')
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
    for (const [, specifier] of text.matchAll(/(?:from|import)[ (]['"](\.[^'"]+)\.js['"]/g))
      names.add(join(dirname(name), `${specifier}.d.ts`))
  }
}

/** Replaces dist in two renames, so that it is missing for a moment only. */
async function replaceDist(staging) {
  const old = `${staging}-old`
  await rename(dist, old).catch((error) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(staging, dist)
  await rm(old, { recursive: true, force: true })
}

const staging = await mkdtemp(join(root, '.dist-'))
try {
  const results = await Promise.allSettled([
    ...Object.keys(formats).map((f) => compile(staging, f)),
    buildConsole(join(staging, 'console')),
    buildPaywall(join(staging, 'paywall')),
    buildDocs(join(staging, 'docs')),
  ])
  const failure = results.find(({ status }) => status === 'rejected')
  if (failure) throw failure.reason
  await chmod(staging, 0o755)
  await chmod(join(staging, 'esm/tools/cli/bin.js'), 0o755)
  await replaceDist(staging)
  buildAgents()
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  await rm(staging, { recursive: true, force: true })
}
