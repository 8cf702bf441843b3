import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { VARIABLES } from '../../src/gateway/config/read/variables.js'
import { findPostgres } from '../support/postgres.js'
import { startProgram } from '../support/program.js'

/** What `npm run example:scale-out` runs once everything is built. */
const MAIN = fileURLToPath(new URL('../../dist/example/scale-out/main.js', import.meta.url))
const FOLDER = new URL('../../example-app/scale-out/', import.meta.url)
const root = fileURLToPath(new URL('../..', import.meta.url))

const postgres = await findPostgres()

describe('npm run example:scale-out', () => {
  if (postgres !== undefined)
    it('loses no payment while one gateway is killed, one added and one stopped', async () => {
      const example = startProgram([MAIN], { env: { X402_DATABASE_URL: postgres } })
      const code = await example.exitCode()
      const output = example.output()
      expect([code, output]).toStrictEqual([0, expect.stringMatching(/presented again, 0 failed/)])
      expect(output).toMatch(/gateway \d killed[^]*gateway 4 added[^]*gateway \d stopped/)
      expect(output).toMatch(/gateway 4 sold [1-9]/)
    })

  it('says what it needs if there is no PostgreSQL', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const env = { X402_DATABASE_URL: `postgres://user:s3cret@127.0.0.1:${port}/payments` }
    const example = startProgram([MAIN], { env })
    expect(await example.exitCode()).toBe(2)
    expect(example.output()).toMatch(/needs PostgreSQL, and found none \(ECONNREFUSED\)/)
    expect(example.output()).not.toContain('s3cret')
  })
})

describe('the compose file', () => {
  const { services } = parse(readFileSync(new URL('compose.yaml', FOLDER), 'utf8'), {
    merge: true,
  }) as { services: Record<string, { environment?: object; deploy?: object; command?: string[] }> }

  it('starts three gateways that share a database and a Redis', () => {
    expect(Object.keys(services)).toStrictEqual([
      ...['postgres', 'redis', 'migrate', 'shop', 'balancer'],
    ])
    expect(services['shop']?.deploy).toStrictEqual({ replicas: 3 })
    expect(services['shop']?.environment).toMatchObject({
      X402_DATABASE_URL: expect.stringContaining('@postgres/'),
      X402_REDIS_URL: 'redis://redis',
    })
  })

  it('sets only variables that the gateway reads', () => {
    const names = Object.keys(services['shop']?.environment ?? {})
    const known = VARIABLES.map(([name]) => name)
    expect(known).toEqual(expect.arrayContaining(names.filter((one) => one.startsWith('X402_'))))
  })

  it('migrates with a command that exists', async () => {
    const [npx, name, ...args] = services['migrate']?.command ?? []
    expect([npx, name]).toStrictEqual(['npx', 'express-x402-gateway'])
    const bin = `${root}/dist/esm/tools/cli/bin.js`
    expect(await startProgram([bin, ...args, '--help'], {}).exitCode()).toBe(0)
  })
})
