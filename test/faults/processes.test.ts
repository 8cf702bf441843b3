import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { recoverTransactionAddress, type TransactionSerialized } from 'viem'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { useDevnet } from '../support/devnet.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { startProgram } from '../support/program.js'
import { until } from '../support/until.js'
import { isSend } from '../support/rpc-proxy.js'
import { startTcpProxy } from './tcp-proxy.js'
import { useWorlds } from './use-worlds.js'
import type { World } from './world.js'
import { useCleanup } from '../support/cleanup.js'

// Blocks come by the clock: transactions that reach the node out of order are mined all the same.
const devnet = useDevnet({ blockTime: 0.1 })
// The oracle is asked first: it reads what is cleaned up afterwards.
const open = useWorlds(devnet, { hasSync: true })
const cleanups = useCleanup()

const postgres = await findPostgres()

/** A schema of PostgreSQL that is gone after the test. */
async function schemaUrl(): Promise<string> {
  const schema = await createSchema(postgres!)
  cleanups.push(() => schema.drop())
  return schema.url
}

const sign = (world: World, count: number) =>
  Promise.all(Array.from({ length: count }, () => world.sign()))

describe('several gateways that start at the same moment', () => {
  it('all start on a new SQLite file, and one sells', async () => {
    const world = await open({ relayers: 3 })
    const gateways = await Promise.all(Array.from({ length: 3 }, () => world.start()))
    expect(gateways.map(({ alive }) => alive)).toEqual([true, true, true])
    const payment = await world.sign()
    expect(await world.presentUntilDecided(gateways[0]!, payment)).toMatchObject({
      delivered: true,
    })
  })
})

describe('200 settlements at once over three relayers', () => {
  it('pay each once if one relayer fails half of its sends', async () => {
    const world = await open({ relayers: 3, options: { settleTimeoutMs: 25_000 } })
    const gateway = await world.start()
    const payments = await sign(world, 200)
    const bad = world.relayers[0]!.address.toLowerCase()
    let sent = 0
    world.proxy.fault = async (method, [raw]) => {
      if (!isSend(method) || (await senderOf(raw as Hex)) !== bad) return undefined
      sent += 1
      const kinds = ['drop_answer', 'drop_request', 'garble'] as const
      return sent % 2 === 0 ? { kind: kinds[(sent / 2) % kinds.length]! } : undefined
    }
    const answers = await world.presentAll(gateway, payments, 'settle')
    expect(answers.filter(({ delivered }) => delivered)).toHaveLength(200)
    const { transfers, records } = await world.evidence()
    expect(transfers).toHaveLength(200)
    expect(records.filter(({ state }) => state === 'settled')).toHaveLength(200)
  })
})

describe('SIGTERM', () => {
  const bin = fileURLToPath(new URL('../../dist/esm/tools/cli/bin.js', import.meta.url))

  it.each([
    ['finishes', 20_000],
    ['records', 500],
  ])('%s 50 settlements that are under way', async (_what, settleTimeoutMs) => {
    const folder = await mkdtemp(join(tmpdir(), 'x402-sigterm-'))
    cleanups.push(() => rm(folder, { recursive: true, force: true }))
    const ledger = join(folder, 'data/ledger.db')
    const world = await open({ ledger })
    const config = {
      networks: {
        'base-sepolia': {
          rpcUrl: world.proxy.url,
          relayerKeys: world.relayers.map(({ key }) => key),
        },
      },
      projects: [{ id: 'shop', tokens: [world.token], merchant: { payTo: world.merchant } }],
      settleTimeoutMs,
      rateLimit: false,
    }
    await writeFile(join(folder, 'gateway.config.json'), JSON.stringify(config))
    const program = startProgram([bin, 'serve', '--port', '0'], { cwd: folder, env: {} })
    cleanups.push(() => program.end('SIGKILL'))
    const url = await program.prints(/(http:\/\/127\.0\.0\.1:\d+)/)

    const payments = await sign(world, 50)
    let isWithheld = true
    world.proxy.fault = (method) =>
      isWithheld && /Receipt/.test(method) ? { kind: 'answer', result: null } : undefined
    const answering = Promise.all(
      payments.map((payment) => world.present({ url }, payment, 'settle')),
    )
    await until(async () => (await world.records()).length === payments.length)
    const ended = program.end('SIGTERM')
    await until(() => isRefused(url))
    if (settleTimeoutMs > 1000) isWithheld = false
    const answers = await answering
    expect(await ended).toBe(0)
    for (const { status, delivered, reason } of answers)
      expect([delivered, reason === 'settlement_pending', status >= 500]).toContain(true)
    if (settleTimeoutMs > 1000) expect(answers.every(({ delivered }) => delivered)).toBe(true)

    world.proxy.fault = undefined
    const next = await world.start()
    const later = await Promise.all(
      answers.map(async ({ delivered }, index) =>
        delivered ? undefined : world.presentUntilDecided(next, payments[index]!, 'settle'),
      ),
    )
    for (const answer of later) if (answer !== undefined) expect(answer.delivered).toBe(true)
    expect((await world.evidence()).transfers).toHaveLength(50)
  })
})

if (postgres !== undefined) {
  describe('two gateways on one PostgreSQL', () => {
    it.each(['/report', '/stream', 'settle'])(
      'deliver once for the same payment to %s, presented 100 times at once',
      async (path) => {
        const world = await open({ relayers: 2, ledger: await schemaUrl() })
        const gateways = await Promise.all([world.start(), world.start()])
        const payment = await world.sign()
        const answers = await Promise.all(
          Array.from({ length: 100 }, (_, index) =>
            world.present(gateways[index % 2]!, payment, path),
          ),
        )
        const later = await world.presentUntilDecided(gateways[0], payment, path)
        expect([...answers, later].filter(({ delivered }) => delivered)).toHaveLength(1)
        expect((await world.evidence()).transfers).toHaveLength(1)
      },
    )

    it('settle 100 different payments at once, each of them once', async () => {
      const world = await open({
        relayers: 2,
        ledger: await schemaUrl(),
        options: { settleTimeoutMs: 20_000 },
      })
      const gateways = await Promise.all([world.start(), world.start()])
      const payments = await sign(world, 100)
      const answers = await Promise.all(
        payments.map((payment, index) => world.presentUntilDecided(gateways[index % 2]!, payment)),
      )
      expect(answers.filter(({ delivered }) => delivered)).toHaveLength(100)
      expect((await world.evidence()).transfers).toHaveLength(100)
    })

    it('take over the payments of one that was killed', async () => {
      const world = await open({ relayers: 2, ledger: await schemaUrl() })
      const [one, other] = await Promise.all([world.start(), world.start()])
      const payments = await sign(world, 30)
      let seen = 0
      world.proxy.fault = (method) => {
        if (isSend(method) && ++seen === 15) void one.kill()
        return undefined
      }
      await Promise.all(
        payments.map((payment, index) => world.present(index % 2 ? one : other, payment)),
      )
      world.proxy.fault = undefined
      await one.kill()
      await world.presentAll(other, payments)
      const { transfers } = await world.evidence()
      expect(transfers).toHaveLength(30)
    })
  })

  describe('a database that is down', () => {
    it('prevents sending, and the same payments are settled when it is back', async () => {
      const direct = await schemaUrl()
      const { hostname, port } = new URL(direct)
      const database = await startTcpProxy({ host: hostname, port: Number(port || 5432) })
      cleanups.push(() => database.close())
      const through = new URL(direct)
      through.host = `127.0.0.1:${database.port}`
      const world = await open({ ledger: through.href, oracleLedger: direct })
      const gateway = await world.start()
      expect(await world.present(gateway, await world.sign())).toMatchObject({ delivered: true })

      database.isDown = true
      world.proxy.methods.length = 0
      const payments = await sign(world, 5)
      for (const answer of await Promise.all(
        payments.map((payment) => world.present(gateway, payment)),
      ))
        expect(answer).toMatchObject({ delivered: false, status: 503 })
      expect(world.proxy.methods.filter(isSend)).toEqual([])
      database.isDown = false
      const answers = await world.presentAll(gateway, payments)
      expect(answers.filter(({ delivered }) => delivered)).toHaveLength(5)
    })

    it('while payments are in progress loses none of them', async () => {
      const direct = await schemaUrl()
      const { hostname, port } = new URL(direct)
      const database = await startTcpProxy({ host: hostname, port: Number(port || 5432) })
      cleanups.push(() => database.close())
      const through = new URL(direct)
      through.host = `127.0.0.1:${database.port}`
      const world = await open({ ledger: through.href, oracleLedger: direct })
      const gateway = await world.start()
      const payments = await sign(world, 20)
      let seen = 0
      world.proxy.fault = (method) => {
        if (isSend(method) && ++seen === 8) {
          database.isDown = true
          setTimeout(() => (database.isDown = false), 5000)
        }
        return undefined
      }
      const answers = await world.presentAll(gateway, payments)
      expect(answers.filter(({ delivered }) => delivered)).toHaveLength(20)
      expect((await world.evidence()).transfers).toHaveLength(20)
      expect(gateway.alive).toBe(true)
    })
  })
}

async function senderOf(raw: Hex): Promise<string> {
  const serializedTransaction = raw as TransactionSerialized
  return (await recoverTransactionAddress({ serializedTransaction })).toLowerCase()
}

async function isRefused(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    () => false,
    () => true,
  )
}
