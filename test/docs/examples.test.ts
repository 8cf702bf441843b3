import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { blocks } from './documents.js'
import {
  examplesInSources,
  exportedFunctions,
  exportedOptions,
  unmarkedExamples,
  type Example,
} from './extract-examples.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const source = join(root, 'src')
const entries = [
  'index.ts',
  'mcp.ts',
  'sql.ts',
  'tools/devnet/index.ts',
  'tools/testing/index.ts',
].map((file) => join(source, file))

const examples = [
  ...examplesInSources(source, root),
  ...blocks.filter(({ lang, meta }) => lang === 'ts' && meta === ''),
]

/** What a user's own tsconfig.json has. */
const consumerOptions = {
  target: 'es2022',
  lib: ['es2023'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
}

/** Below node_modules, so that what an example imports is found. */
let folder: string
let problems: ReadonlyMap<string, readonly string[]>
beforeAll(() => {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  folder = mkdtempSync(join(cache, 'examples-'))
  problems = check(examples)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Checks all examples as one program, each as a module of its own. @returns What is wrong, by place. */
function check(all: readonly Example[]): ReadonlyMap<string, readonly string[]> {
  const files = all.map((example, index) => ({ ...example, file: `example-${index}.ts` }))
  for (const { file, code } of files) writeFileSync(join(folder, file), `${code}\nexport {}\n`)
  const toSource = relative(folder, source)
  const paths = {
    'express-x402-gateway': [`${toSource}/index.ts`],
    'express-x402-gateway/mcp': [`${toSource}/mcp.ts`],
    'express-x402-gateway/sql': [`${toSource}/sql.ts`],
    'express-x402-gateway/devnet': [`${toSource}/tools/devnet/index.ts`],
    'express-x402-gateway/testing': [`${toSource}/tools/testing/index.ts`],
  }
  const project = { compilerOptions: { ...consumerOptions, paths }, include: ['*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, '--project', '.', '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  })
  const found = new Map<string, string[]>()
  for (const line of stdout.split('\n').filter((one) => /^\S+\(\d+,\d+\): error/.test(one))) {
    const at = files.find(({ file }) => line.startsWith(`${file}(`))?.at ?? 'elsewhere'
    found.set(at, [...(found.get(at) ?? []), line])
  }
  return found
}

describe('an example of the documentation', () => {
  it('is found', () => {
    expect(examples.length).toBeGreaterThan(50)
  })

  it.each(examples)('type-checks under strict: $at', ({ at }) => {
    expect(problems.get(at) ?? []).toEqual([])
  })

  it('is checked together with sources that compile', () => {
    expect(problems.get('elsewhere') ?? []).toEqual([])
  })

  it('is marked as TypeScript in every @example', () => {
    expect(unmarkedExamples(source)).toEqual([])
  })
})

describe('the documentation of an exported function', () => {
  const functions = entries.flatMap((entry) => exportedFunctions(entry))

  it.each(functions)('has an example, or two: $name', ({ doc }) => {
    expect(doc).toContain('@example')
  })

  it.each(functions)('says what it returns: $name', ({ doc }) => {
    expect(doc).toContain('@returns')
  })
})

describe('the documentation of exported options', () => {
  const options = entries.flatMap((entry) => exportedOptions(entry, source))

  it('is found', () => {
    expect(options.length).toBeGreaterThan(20)
  })

  it.each(options)('has an example: $name', ({ doc }) => {
    expect(doc).toContain('@example')
  })
})
