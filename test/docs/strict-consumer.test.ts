/** What typescript-eslint's strict rules say of code that uses the package, by oxlint's copies of them. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const root = fileURLToPath(new URL('../..', import.meta.url))

const RULES = [
  'typescript/unbound-method',
  'typescript/no-misused-promises',
  'typescript/no-floating-promises',
  'typescript/no-unnecessary-condition',
]

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'strict-consumer-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const compilerOptions = {
    ...{ target: 'es2022', module: 'nodenext', types: ['node'], strict: true },
    ...{ exactOptionalPropertyTypes: true, skipLibCheck: true, noEmit: true },
    paths: { 'express-x402-gateway': [join(root, 'src/index.ts')] },
  }
  const rules = Object.fromEntries(RULES.map((rule) => [rule, 'error']))
  const files = {
    'package.json': { type: 'module' },
    'tsconfig.json': { compilerOptions, include: ['*.ts'] },
    'oxlint.json': { plugins: ['typescript'], categories: { correctness: 'off' }, rules },
  }
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(folder, name), JSON.stringify(content))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The rules that a module breaks. */
function brokenRules(name: string, code: string): readonly string[] {
  writeFileSync(join(folder, name), code)
  const oxlint = join(root, 'node_modules/oxlint/bin/oxlint')
  const args = [oxlint, '--config', 'oxlint.json', '--type-aware', '--format', 'json', name]
  const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string }[] }
  return diagnostics.map(({ code: rule }) => rule)
}

/** What the compiler says of a module. */
function typeErrors(name: string, code: string): readonly string[] {
  writeFileSync(join(folder, name), code)
  writeFileSync(
    join(folder, 'tsconfig.one.json'),
    JSON.stringify({ extends: './tsconfig.json', include: [name] }),
  )
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const args = [tsc, '--project', 'tsconfig.one.json', '--pretty', 'false']
  const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  return stdout.split('\n').filter((line) => line.startsWith(`${name}(`))
}

describe('the options of a route', () => {
  it('take functions whose request is typed by the route, and undefined for what is not set', () => {
    const code = `
      import express, { type Request } from 'express'
      import { createGateway, x402Protect } from 'express-x402-gateway'

      type ById = Request<{ id: string }, unknown, { pages: number }>
      declare const description: string | undefined
      const protect = x402Protect((req: ById) => '$' + req.params.id + String(req.body.pages), {
        description,
        merchant: async (req: ById) => req.params.id,
        skip: (req: ById) => req.params.id === 'free',
        resourceUrl: (req: ById) => 'https://shop.example/' + req.params.id,
        quoteFor: (req: ById) => req.params.id,
        reference: (req: ById) => req.params.id,
        chargeIf: undefined,
      })
      createGateway({
        publicUrl: process.env['PUBLIC_URL'],
        networks: { base: { rpcUrl: process.env['RPC_URL'], maxFeePerGasGwei: undefined } },
        projects: [{ id: 'shop', merchant: { payTo: '0x', name: process.env['NAME'] } }],
        admin: undefined,
      })
      express().get('/report/:id', protect, (req, res) => void res.json(req.params.id))
      x402Protect((req) => '$' + String(req.query['price']), { skip: (req) => req.method === 'HEAD' })
    `
    expect(typeErrors('route.ts', code)).toEqual([])
  })

  it('refuse parameters that are not there, and results of another type', () => {
    const code = `
      import type { Request } from 'express'
      import { x402Protect } from 'express-x402-gateway'

      x402Protect((req: Request<{ id: string }>) => req.params.name)
      x402Protect((name: string) => name)
      x402Protect('$1', { reference: (req: Request<{ id: string }>) => req.params.id.length })
      x402Protect('$1', { descripton: 'A report' })
    `
    const lines = typeErrors('wrong.ts', code).map((line) => /\((\d+),/.exec(line)?.[1])
    expect(lines).toEqual(['5', '6', '7', '8'])
  })
})

describe('the types of the package', () => {
  it('pass strict rules in users’ code with destructured functions and async listeners', () => {
    const code = `
      import express from 'express'
      import { createGateway, defaultGateway, paidRequest } from 'express-x402-gateway'

      const gateway = createGateway({})
      const { x402Protect, gatewayRouter, on, check, healthRouter, metricsRouter, close } = gateway
      on('settled', async ({ transaction }) => {
        await fetch('http://127.0.0.1/' + transaction)
      })
      const seen: string[] = []
      defaultGateway().on('settled', ({ transaction }) => seen.push(transaction))
      const app = express()
      app.get('/a', x402Protect('$0.01'), (req, res) => void res.json({ by: req.x402?.payer }))
      app.get('/b', x402Protect('$0.01'), (req, res) => void res.json(paidRequest(req).amount))
      app.use(gatewayRouter(), healthRouter(), metricsRouter())
      await check()
      process.once('SIGTERM', () => void close())
    `
    expect(brokenRules('good.ts', code)).toEqual([])
  })

  it('are read by rules that do find mistakes', () => {
    const code = `
      class Emitter {
        name = 'emitter'
        emit(listener: () => void) {
          listener()
          return this.name
        }
      }
      const { emit } = new Emitter()
      new Emitter().emit(async () => {
        await fetch('http://127.0.0.1')
      })
      export const kept = emit
    `
    expect(brokenRules('bad.ts', code).toSorted()).toEqual([
      'typescript(no-misused-promises)',
      'typescript(unbound-method)',
    ])
  })
})
