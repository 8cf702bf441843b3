/** What typescript-eslint says of code that uses the packed package. It needs a TypeScript older than ours. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { page } from '../docs/documents.js'
import { install, pack, run } from '../support/packed.js'

const CONFIG = `
import tseslint from 'typescript-eslint'

export default tseslint.config(tseslint.configs.strictTypeChecked, {
  languageOptions: { parserOptions: { project: './tsconfig.json' } },
})
`

const compilerOptions = {
  ...{ target: 'es2022', module: 'nodenext', types: ['node'], strict: true },
  ...{ exactOptionalPropertyTypes: true, skipLibCheck: true, noEmit: true },
}

const TAKEN_APART = `
import express from 'express'
import { createGateway, gatewayRouter, paidRequest } from 'express-x402-gateway'

const gateway = createGateway({})
const { x402Protect, on, check, healthRouter, metricsRouter, close } = gateway
const remove = on('settled', async ({ transaction }) => {
  await fetch('http://127.0.0.1/' + transaction)
})
const app = express()
app.get('/a', x402Protect('$0.01'), (req, res) => {
  res.json({ by: req.x402?.payer })
})
app.get('/b', x402Protect('$0.01'), (req, res) => void res.json(paidRequest(req).amount))
app.use(gatewayRouter(), gateway.gatewayRouter(), healthRouter(), metricsRouter())
await check()
remove()
process.once('SIGTERM', () => void close())
`

const WRONG = `
import { createGateway } from 'express-x402-gateway'

const gateway = createGateway({})
gateway.close()
gateway.on('settled', (event) => {
  console.log(event.payTo ?? 'nobody')
})
`

interface Linted {
  readonly filePath: string
  readonly messages: readonly { readonly ruleId: string | null; readonly message: string }[]
}

const README = page('README.md').blocks.flatMap(({ lang, code }) => (lang === 'ts' ? [code] : []))
const GOOD = [...README, TAKEN_APART]

let folder: string
/** The rules that each module breaks: those of `GOOD`, and last `WRONG`. */
let broken: readonly (readonly string[])[]
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strict-lint-'))
  const tools = ['eslint@10', 'typescript-eslint@8', 'typescript@5', '@types/node@20']
  await install(folder, [await pack(folder), 'express@5', '@types/express@5', ...tools])
  await writeFile(join(folder, 'eslint.config.mjs'), CONFIG)
  const tsconfig = { compilerOptions, include: ['*.mts'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  broken = await lint([...GOOD, WRONG])
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function lint(modules: readonly string[]): Promise<readonly (readonly string[])[]> {
  const names = modules.map((_, index) => `module-${index}.mts`)
  await Promise.all(names.map((name, index) => writeFile(join(folder, name), modules[index]!)))
  const args = ['node_modules/eslint/bin/eslint.js', '--format', 'json', ...names]
  const { stdout } = await run(process.execPath, args, { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  )
  const results = JSON.parse(stdout) as Linted[]
  return names.map((name) => {
    const found = results.find(({ filePath }) => filePath.endsWith(name))
    return (found?.messages ?? []).map(({ ruleId, message }) => ruleId ?? message)
  })
}

describe("typescript-eslint's rules strict-type-checked", () => {
  it("pass the README's TypeScript and a destructured gateway", () => {
    expect(README.length).toBeGreaterThanOrEqual(2)
    expect(broken.slice(0, -1)).toEqual(GOOD.map(() => []))
  })

  it('find a promise that nobody awaits, and a condition that is always true', () => {
    expect(broken.at(-1)).toEqual([
      '@typescript-eslint/no-floating-promises',
      '@typescript-eslint/no-unnecessary-condition',
    ])
  })

  it('work with types that TypeScript 5 can read', async () => {
    const compiled = run(process.execPath, ['node_modules/typescript/bin/tsc'], { cwd: folder })
    expect(await compiled.catch((error: { stdout: string }) => error)).toMatchObject({
      stdout: '',
    })
  })
})
