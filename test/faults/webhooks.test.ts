import { describe, expect, it } from '@jest/globals'
import { useCleanup, closedBy } from '../support/cleanup.js'
import { useDevnet } from '../support/devnet.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { until } from '../support/until.js'
import { startReceiver, type ReceivedWebhook, type Receiver } from '../operate/webhooks/receiver.js'
import { openCommittedStates, type CommittedStates } from './committed-state.js'
import type { GatewayProcess } from './gateway-process.js'
import { useWorlds } from './use-worlds.js'
import type { World } from './world.js'

/** Payments of a run; WEBHOOK_PAYMENTS asks for more. */
const PAYMENTS = Number(process.env['WEBHOOK_PAYMENTS'] ?? 60)
const BUYERS = 8
const KILLS = Math.ceil(PAYMENTS / 20)
const PATIENCE_MS = 600_000 + PAYMENTS * 1500

const devnet = useDevnet()
const open = useWorlds(devnet)
const toEnd = useCleanup()
const options = { webhooks: { allowPrivate: true } }

async function register({ token }: World, { url }: GatewayProcess, receiver: Receiver) {
  const response = await fetch(`${url}/api/v2/merchant/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-project-identify-token': token },
    body: JSON.stringify({ url: receiver.url }),
  })
  const { id, secret } = (await response.json()) as { id: string; secret: string }
  return { id, secret }
}

/** Sells while gateways are killed, until each payment is decided. */
async function sellAndKill(world: World): Promise<void> {
  const gateways = [await world.start(), await world.start()]
  let begun = 0
  let kills = 0
  const someone = async (): Promise<GatewayProcess> => {
    await until(() => gateways.some(({ alive }) => alive))
    const alive = gateways.filter((gateway) => gateway.alive)
    return alive[begun % alive.length]!
  }
  const buyer = async (): Promise<void> => {
    while (begun++ < PAYMENTS) {
      if (begun > ((kills + 1) * PAYMENTS) / (KILLS + 1) && kills < KILLS) {
        const victim = kills++ % 2
        gateways[victim]!.signal('SIGKILL')
        void world.start().then((heir) => (gateways[victim] = heir))
      }
      const path = begun % 3 === 0 ? '/report' : 'settle'
      await world.presentUntilDecided(someone, await world.sign(), path)
    }
  }
  await Promise.all(Array.from({ length: BUYERS }, buyer))
  expect(kills).toBe(KILLS)
}

/** Verifies what it is told, looks whether that is committed, and responds with a failure now and then. */
async function startShop(states: CommittedStates) {
  const receiver = await startReceiver(toEnd)
  const arrived: ReceivedWebhook[] = []
  const wrong: string[] = []
  const genuine = { secret: '' }
  receiver.respond = async (webhook, res) => {
    try {
      // At once: a signature lasts for five minutes.
      receiver.verify(webhook, genuine.secret)
    } catch (error) {
      wrong.push(String(error))
    }
    const state = await states.read(webhook.data.id)
    const isCommitted = state === 'settled' || webhook.type !== 'payment.settled'
    if (!isCommitted) wrong.push(`${webhook.data.id} is ${state}`)
    const luck = receiver.received.length % 13
    if (luck === 3) return res.writeHead(500).end()
    arrived.push(webhook)
    if (luck === 7) return res.destroy()
    return res.writeHead(204).end()
  }
  return { receiver, arrived, wrong, genuine }
}

const postgres = await findPostgres()
const databases = ['SQLite', ...(postgres === undefined ? [] : ['PostgreSQL'])]

describe.each(databases)('webhooks of gateways on %s that are killed', (database) => {
  it(
    'tell of every payment, in order, and of none before its settlement is committed',
    async () => {
      const schema = database === 'PostgreSQL' ? await createSchema(postgres!) : undefined
      if (schema !== undefined) toEnd.push(() => schema.drop())
      const world = await open({ relayers: 2, options, ...(schema && { ledger: schema.url }) })
      const first = await world.start()
      const states = closedBy(toEnd, openCommittedStates(world.ledger))
      const { receiver, arrived, wrong, genuine } = await startShop(states)
      genuine.secret = (await register(world, first, receiver)).secret
      await sellAndKill(world)
      const settled = (await world.records()).filter(({ state }) => state === 'settled')
      expect(settled.length).toBeGreaterThanOrEqual(PAYMENTS)
      const ids = new Set(settled.map(({ id }) => id))
      const told = (): Set<string> =>
        new Set(arrived.filter(({ type }) => type === 'payment.settled').map(({ data }) => data.id))
      await until(() => told().size >= ids.size)
      expect(told()).toEqual(ids)
      expect(wrong).toEqual([])
      for (const id of ids) {
        const own = arrived.filter(({ data }) => data.id === id)
        // What arrived twice is told apart by its id.
        const once = [...new Map(own.map((webhook) => [webhook.id, webhook])).values()]
        const versions = once.map(({ data }) => data.version)
        expect(versions).toEqual(versions.map((_, index) => index + 1))
        const { transaction } = once.at(-1)!.data
        const record = settled.find((one) => one.id === id)
        expect(record).toMatchObject({ transaction })
      }
    },
    PATIENCE_MS,
  )
})

describe('a webhook that a killed process was delivering', () => {
  it('is delivered by another at once', async () => {
    const world = await open({ options })
    const first = await world.start()
    const receiver = await startReceiver(toEnd)
    let isHeld = true
    receiver.respond = (_webhook, res) => (isHeld ? undefined : res.writeHead(204).end())
    await register(world, first, receiver)
    await world.presentUntilDecided(first, await world.sign(), 'settle')
    await until(() => receiver.received.length >= 1)
    isHeld = false
    await first.kill()
    const startedAt = performance.now()
    await world.start()
    await until(() => receiver.received.length >= 2)
    // A claim would last for 30 s.
    expect(performance.now() - startedAt).toBeLessThan(25_000)
    expect(receiver.received[1]!.id).toBe(receiver.received[0]!.id)
    expect(receiver.received[1]!.text).toBe(receiver.received[0]!.text)
  })
})
