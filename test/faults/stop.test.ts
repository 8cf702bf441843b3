/** Shops that are stopped while buyers pay, by the signals and in the way that the documentation says. */
import { describe, expect, it } from '@jest/globals'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { authorizationOf } from './authorization.js'
import { openWorld, type World, type WorldOptions } from './world.js'
import { useWorlds } from './use-worlds.js'
import { paymentHeader } from '../support/http.js'
import { untilSent } from '../support/mining.js'
import { sendBatch } from '../../src/tools/devnet/send-batch.js'
import { signedAuthorization } from '../support/on-chain.js'
import { useDevnet } from '../support/devnet.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { until } from '../support/until.js'
import { useCleanup, closedBy } from '../support/cleanup.js'

// A settlement waits for its block about as long as on Base.
const BLOCK_SECONDS = 2
const devnet = useDevnet({ blockTime: BLOCK_SECONDS })
const openJudged = useWorlds(devnet)
const cleanups = useCleanup()

const postgres = await findPostgres()
const LEDGERS = ['memory', 'SQLite', ...(postgres === undefined ? [] : ['PostgreSQL'])] as const

/** A world on one of the ledgers. What memory has held cannot be judged once its process is gone. */
async function open(ledger: string, settings: WorldOptions): Promise<World> {
  if (ledger === 'SQLite') return openJudged(settings)
  if (ledger === 'memory') {
    return closedBy(cleanups, await openWorld(devnet, { ...settings, ledger }))
  }
  const schema = await createSchema(postgres!)
  cleanups.push(() => schema.drop())
  return openJudged({ ...settings, ledger: schema.url })
}

/** Handlers that are quick and slow, both flows, and the API: each is met in another moment. */
const PATHS = ['/report', '/slow/700', '/stream', '/slow-stream/700', 'settle'] as const

const BUYERS = 40
const PAUSE_MS = 90

const nameOf = (payment: PaymentPayload): string => authorizationOf(signedAuthorization(payment))

/** How many seconds lie between two blocks from now on; 0 for no blocks. */
const setBlockSeconds = (seconds: number) =>
  sendBatch(devnet.rpcUrl, [['evm_setIntervalMining', seconds]])

/**
 * Stops a shop with buyers in all stages of their purchases, of which some come too late.
 *
 * @param signal - What it is told.
 * @param stop - What happens first, once a payment was sent.
 */
async function stopWhileBusy(
  world: World,
  signal: 'SIGTERM' | 'SIGINT',
  stop = (): Promise<unknown> => Promise.resolve(),
): Promise<string> {
  const gateway = await world.start()
  const payments = await Promise.all(Array.from({ length: BUYERS }, () => world.sign()))
  const pathOf = new Map(
    payments.map((payment, index) => [nameOf(payment), PATHS[index % PATHS.length]!] as const),
  )
  let ended: Promise<number | null> | undefined
  const buying = payments.map(async (payment, index) => {
    await sleep(index * PAUSE_MS)
    const presenting = world.present(gateway, payment, pathOf.get(nameOf(payment)))
    if (index === BUYERS - 5) {
      await until(() => world.proxy.methods.some((method) => method.startsWith('eth_sendRaw')))
      await stop()
      ended = gateway.terminate(signal)
    }
    await presenting
  })
  await Promise.all(buying)
  expect(await ended).toBe(0)
  await setBlockSeconds(BLOCK_SECONDS)

  // What was sent last is in this block.
  await devnet.mine()
  const { transfers } = await world.evidence()
  expect(transfers.length).toBeGreaterThan(0)
  for (const { authorization, transaction } of transfers) {
    const answer = world.answers.find((one) => one.authorization === authorization)
    // The buyer has the goods, or knows which transaction has paid for them.
    expect(answer).toMatchObject({ transaction })
    if (answer?.delivered === true || answer?.reason === 'settlement_pending') continue
    // The handler ran, after the settlement.
    expect(answer).toMatchObject({ status: 503, reason: 'shutting_down' })
    expect(pathOf.get(authorization)).toMatch(/stream/)
  }
  if (world.ledger === 'memory') return gateway.log()
  const next = await world.start()
  for (const payment of payments) {
    const answer = world.answers.find((one) => one.authorization === nameOf(payment))
    if (answer?.reason !== 'settlement_pending') continue
    const path = pathOf.get(nameOf(payment))
    expect(await world.presentUntilDecided(next, payment, path)).toMatchObject({ delivered: true })
  }
  return gateway.log()
}

describe.each(LEDGERS)('with the %s ledger, a shop that is stopped while it is busy', (ledger) => {
  it.each([
    { way: 'eth_sendRawTransactionSync', hasSync: true, signal: 'SIGTERM' },
    { way: 'eth_sendRawTransaction', hasSync: false, signal: 'SIGINT' },
  ] as const)(
    'lets what is under way finish after $signal, by $way',
    async ({ hasSync, signal }) => {
      const world = await open(ledger, { hasSync })
      expect(await stopWhileBusy(world, signal)).not.toMatch(/ledger is closed/i)
      const paid = new Set((await world.evidence()).transfers.map((one) => one.authorization))
      const answers = world.answers.filter(({ authorization }) => paid.has(authorization))
      expect(answers.filter(({ delivered }) => !delivered)).toEqual([])
      // Those that came too late were refused, or met nobody.
      for (const { delivered, status } of world.answers)
        if (!delivered) expect([503, 0]).toContain(status)
    },
  )

  it.each([
    { way: 'eth_sendRawTransactionSync', hasSync: true, signal: 'SIGINT' },
    { way: 'eth_sendRawTransaction', hasSync: false, signal: 'SIGTERM' },
  ] as const)(
    'answers what its time is too short for as pending, with the hash, by $way',
    async ({ hasSync, signal }) => {
      const world = await open(ledger, { hasSync, closeMs: 100 })
      // One that no block takes before its time is over.
      await stopWhileBusy(world, signal, async () => {
        await setBlockSeconds(0)
        await untilSent(devnet)
      })
      expect(world.answers.map(({ reason }) => reason)).toContain('settlement_pending')
    },
  )
})

describe('a handler that never ends', () => {
  it('has its response dropped when time is over, charges nothing, and does not keep the process', async () => {
    const world = await openJudged({ closeMs: 500 })
    const gateway = await world.start()
    const payment = await world.sign()
    const answering = world.present(gateway, payment, '/never')
    await until(async () => (await world.records()).length === 1)
    const ended = gateway.terminate()
    expect(await answering).toMatchObject({ status: 503, reason: 'shutting_down' })
    expect(await ended).toBe(0)
    expect(await world.records()).toEqual([])
    expect((await world.evidence()).transfers).toEqual([])
  })

  it('leaves a buyer who has paid upfront with the hash of his transaction', async () => {
    const world = closedBy(cleanups, await openWorld(devnet, { ledger: 'memory', closeMs: 500 }))
    const gateway = await world.start()
    const payment = await world.sign()
    const answering = world.present(gateway, payment, '/never-stream')
    await until(async () => (await world.evidence()).transfers.length === 1)
    const ended = gateway.terminate()
    const [transfer] = (await world.evidence()).transfers
    const { transaction } = transfer!
    expect(await answering).toMatchObject({ status: 503, reason: expect.anything(), transaction })
    expect(await ended).toBe(0)
  })

  it('is not waited for when its client has gone', async () => {
    // Longer than a test may take.
    const world = await openJudged({ closeMs: 1_200_000 })
    const gateway = await world.start()
    const leaving = new AbortController()
    const headers = paymentHeader(await world.sign())
    const left = fetch(`${gateway.url}/never-stream`, { headers, signal: leaving.signal })
    await until(async () => (await world.records())[0]?.state === 'settled')
    leaving.abort()
    await expect(left).rejects.toThrow('aborted')
    expect(await gateway.terminate()).toBe(0)
  })
})
