import { readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { useDevnet } from '../support/devnet.js'
import { createSchema, findPostgres, type TestSchema } from '../support/postgres.js'
import { until } from '../support/until.js'
import { isSend } from '../support/rpc-proxy.js'
import type { GatewayProcess } from './gateway-process.js'
import { useWorlds } from './use-worlds.js'
import type { World, WorldOptions } from './world.js'

const devnet = useDevnet({ blockTime: 0.5 })
const openWorld = useWorlds(devnet)
const postgres = await findPostgres()
const schemas: TestSchema[] = []
afterEach(() => Promise.all(schemas.splice(0).map((schema) => schema.drop())))

/** Longer than these tests take: nothing becomes free, or is given up, by the clock. */
const LOCK_MS = 600_000

/**
 * Milliseconds from listening to the first grant, and from the block of a payment to its outcome. A
 * thirtieth of that is enough where nobody else uses the machine; a lock lasts for far longer.
 */
const FIRST_GRANT_MS = 60_000
const DECIDED_MS = 60_000

const PENDING = { delivered: false, reason: 'settlement_pending' }

/** A world in which a process that waits for a receipt waits until it is killed. */
async function open(database: string, options: WorldOptions = {}): Promise<World> {
  const world = await openWorld({
    relayers: 2,
    lockMs: LOCK_MS,
    // A request that ran out of time would give up its lock, however slow the machine is.
    options: { settleTimeoutMs: LOCK_MS },
    ...(database === 'PostgreSQL' && { ledger: await newSchema() }),
    ...options,
  })
  world.proxy.fault = (method) =>
    /Receipt/.test(method) ? { kind: 'answer', result: null } : undefined
  return world
}

async function newSchema(): Promise<string> {
  const schema = await createSchema(postgres!)
  schemas.push(schema)
  return schema.url
}

/** Starts a gateway that has one relayer account for itself. */
const startWith = (world: World, relayer: 0 | 1): Promise<GatewayProcess> =>
  world.start({ network: { relayerKeys: [world.relayers[relayer]!.key] } })

/** Presents payments that stay in hand, until all are written down as submitted. */
async function haveInHand(world: World, gateway: GatewayProcess, count: number) {
  const payments = await Promise.all(Array.from({ length: count }, () => world.sign()))
  const visit = { patienceMs: LOCK_MS }
  const presented = Promise.all(payments.map((payment) => world.present(gateway, payment, visit)))
  await until(async () => (await statesOf(world)).join() === payments.map(() => 'submitted').join())
  return { payments, presented }
}

async function statesOf(world: World): Promise<readonly string[]> {
  return (await world.records()).map(({ state }) => state)
}

async function isSettled(world: World): Promise<boolean> {
  return (await statesOf(world)).every((state) => state === 'settled')
}

/** A payment that another process seems to have is refused at first. */
async function grant(world: World, gateway: GatewayProcess, payment: PaymentPayload) {
  await until(async () => (await world.present(gateway, payment)).delivered)
}

/** What a process says of a payment: on a busy machine, it may say nothing in time. */
async function told(world: World, gateway: GatewayProcess, payment: PaymentPayload) {
  let answer = await world.present(gateway, payment)
  await until(async () => {
    if (answer.delivered || answer.reason !== undefined) return true
    answer = await world.present(gateway, payment)
    return false
  })
  return answer
}

/** Files that processes keep locked while they live. */
async function ownerFilesOf({ ledger }: World): Promise<readonly string[]> {
  const files = await readdir(dirname(ledger))
  return files.filter((file) => file.startsWith(`${basename(ledger)}-owner-`))
}

async function millisecondsOf(work: Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work
  return performance.now() - from
}

const databases = ['SQLite', ...(postgres === undefined ? [] : ['PostgreSQL'])]

describe.each(databases)('a process on %s that is killed and restarted at once', (database) => {
  it('sells its first payment and decides the pending ones without waiting for a clock', async () => {
    const world = await open(database)
    const first = await startWith(world, 0)
    const { payments, presented } = await haveInHand(world, first, 10)
    await first.kill()
    expect(await presented).toMatchObject(payments.map(() => ({ status: 0 })))
    world.proxy.fault = undefined
    const next = await startWith(world, 1)
    const decided = millisecondsOf(until(() => isSettled(world)))
    const firstGrantMs = await millisecondsOf(grant(world, next, await world.sign()))
    expect(firstGrantMs).toBeLessThan(FIRST_GRANT_MS)
    expect(await decided).toBeLessThan(DECIDED_MS)
    const redeemedMs = await millisecondsOf(
      Promise.all(payments.map((payment) => grant(world, next, payment))),
    )
    expect(redeemedMs).toBeLessThan(FIRST_GRANT_MS)
    expect((await world.evidence()).transfers).toHaveLength(11)
    if (database === 'SQLite') expect(await ownerFilesOf(world)).toHaveLength(1)
  })

  it('sends the transaction that was recorded and not sent', async () => {
    const world = await open(database)
    const first = await startWith(world, 0)
    world.proxy.fault = (method) => (isSend(method) ? { kind: 'drop_request' } : undefined)
    // One alone: while its fate is unknown, the same account sends no other.
    const { payments } = await haveInHand(world, first, 1)
    await first.kill()
    world.proxy.fault = undefined
    const next = await startWith(world, 1)
    const decidedMs = await millisecondsOf(until(() => isSettled(world)))
    expect(decidedMs).toBeLessThan(DECIDED_MS)
    await Promise.all(payments.map((payment) => grant(world, next, payment)))
  })
})

describe.each(databases)('a live process on %s', (database) => {
  it('keeps its payments while it is paused', async () => {
    const world = await open(database)
    const [paused, other] = [await startWith(world, 0), await startWith(world, 1)]
    const { payments, presented } = await haveInHand(world, paused, 1)
    paused.signal('SIGSTOP')
    for (let seconds = 0; seconds < 4; seconds++) {
      expect(await told(world, other, payments[0]!)).toMatchObject(PENDING)
      await sleep(1000)
    }
    paused.signal('SIGCONT')
    world.proxy.fault = undefined
    expect(await presented).toMatchObject([{ delivered: true }])
  })
})

if (postgres !== undefined)
  describe('processes on PostgreSQL whose sessions are ended', () => {
    it.each([
      ['the owner of a payment', 'lock_owner'],
      ['all', 'owner'],
    ])('have new ones before they are taken for dead: %s', async (_whose, of) => {
      const world = await open('PostgreSQL')
      const [one, other] = [await startWith(world, 0), await startWith(world, 1)]
      const { payments, presented } = await haveInHand(world, one, 1)
      const { name, execute } = schemas.at(-1)!
      for (let seconds = 0; seconds < 6; seconds++) {
        const endSessions = async (): Promise<boolean> => {
          const ended = await execute(`SELECT pg_terminate_backend(pid)
              FROM ${name}.x402_owners JOIN ${name}.x402_authorizations ON left(${of}, 16) = owner
              JOIN pg_locks ON objid = ('x' || right(owner, 8))::bit(32)::bigint::oid
              WHERE locktype = 'advisory' AND granted`)
          return ended.length > 0
        }
        await until(endSessions)
        await sleep(1000)
        expect(await told(world, other, payments[0]!)).toMatchObject(PENDING)
      }
      world.proxy.fault = undefined
      expect(await presented).toMatchObject([{ delivered: true }])
    })
  })
