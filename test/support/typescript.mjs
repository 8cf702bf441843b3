// Runs our TypeScript as it stands: `node --import ./test/support/typescript.mjs <file>.ts`.
// `./x.js` is `./x.ts` where there is one, as the compiler has it.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { register } from 'node:module'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) register(import.meta.url)

const SOURCE = /\.(c?)ts(?:\?|$)/

export async function resolve(specifier, context, nextResolve) {
  if (specifier.startsWith('.') && SOURCE.test(context.parentURL ?? '')) {
    const source = new URL(specifier.replace(/js$/, 'ts'), context.parentURL)
    if (existsSync(fileURLToPath(source))) return { url: source.href, shortCircuit: true }
  }
  return nextResolve(specifier, context)
}

export async function load(url, context, nextLoad) {
  const [isSource, isCommonJs] = SOURCE.exec(url) ?? []
  if (!isSource || url.includes('/node_modules/')) return nextLoad(url, context)
  const filename = fileURLToPath(url)
  // Here, not above: only the thread that loads modules needs it, and it takes 27 MiB.
  const { transform } = await import('@swc/core')
  const { code } = await transform(await readFile(filename, 'utf8'), {
    filename,
    swcrc: false,
    sourceMaps: 'inline',
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: isCommonJs ? 'commonjs' : 'es6' },
  })
  return { format: isCommonJs ? 'commonjs' : 'module', source: code, shortCircuit: true }
}
