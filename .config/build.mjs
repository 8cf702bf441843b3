// Compiles src twice, as ESM and as CommonJS. Each copy is compiled in place, beside a
// package.json that tells its format: dependencies are then checked as that format resolves
// them, and `import()` stays an import in CommonJS. The code is written without comments, which
// would be half of it; the declarations keep theirs. A build that fails keeps the last dist.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const tsc = join(root, 'node_modules/typescript/bin/tsc')

/** The command line is an ES module only: nobody requires it. */
const formats = {
  esm: { type: 'module', skip: [] },
  cjs: { type: 'commonjs', skip: ['cli'] },
}

const tsconfig = {
  extends: '../../tsconfig.json',
  compilerOptions: {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    sourceMap: true,
    inlineSources: true,
    stripInternal: true,
    paths: {},
  },
  include: ['.'],
  exclude: [],
}

async function compile(staging, format) {
  const { type, skip } = formats[format]
  const folder = join(staging, format)
  const sources = join(root, 'src')
  await cp(sources, folder, {
    recursive: true,
    filter: (path) => !skip.includes(relative(sources, path)),
  })
  await writeFile(join(folder, 'package.json'), `${JSON.stringify({ type })}\n`)
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  const code = ['--declaration', 'false', '--emitDeclarationOnly', 'false', '--removeComments']
  for (const options of [[], code]) {
    const compiler = spawn(process.execPath, [tsc, '--project', folder, ...options], {
      stdio: 'inherit',
    })
    const [exitCode] = await once(compiler, 'exit')
    if (exitCode !== 0) throw new Error(`The ${format} build failed.`)
  }
  await keepOutput(folder)
}

/** Removes what was there only to be compiled. */
async function keepOutput(folder) {
  const output = /\.c?js(\.map)?$|\.d\.c?ts$|^(package\.json|gateway\.md)$/
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !output.test(entry.name))
  await Promise.all(files.map((file) => rm(join(file.parentPath ?? file.path, file.name))))
  // Deepest first, so that a folder of emptied folders is empty by then.
  const folders = entries.filter((entry) => entry.isDirectory()).toReversed()
  for (const { parentPath, path, name } of folders) {
    const children = await readdir(join(parentPath ?? path, name))
    if (children.length === 0) await rm(join(parentPath ?? path, name), { recursive: true })
  }
}

/** Takes the place of dist in two renames: whoever runs it meanwhile hardly misses it. */
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
  const results = await Promise.allSettled(Object.keys(formats).map((f) => compile(staging, f)))
  const failure = results.find(({ status }) => status === 'rejected')
  if (failure) throw failure.reason
  await chmod(staging, 0o755)
  await chmod(join(staging, 'esm/cli/bin.js'), 0o755)
  await replaceDist(staging)
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  await rm(staging, { recursive: true, force: true })
}
