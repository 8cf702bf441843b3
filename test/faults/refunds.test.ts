import { describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { until } from '../support/until.js'
import { isSend } from '../support/rpc-proxy.js'
import type { GatewayProcess } from './gateway-process.js'
import { useWorlds } from './use-worlds.js'
import type { AtUrl, World } from './world.js'
import { useCleanup } from '../support/cleanup.js'

const devnet = useDevnet()
const openWorld = useWorlds(devnet)
const postgres = await findPostgres()
const toEnd = useCleanup()

/** What a payment of these worlds is. */
const PAID = 10_000n
const databases = ['SQLite', ...(postgres === undefined ? [] : ['PostgreSQL'])]

async function open(database: string): Promise<World> {
  const options = { options: { settleTimeoutMs: 45_000 } }
  if (database === 'SQLite') return openWorld(options)
  const schema = await createSchema(postgres!)
  toEnd.push(() => schema.drop())
  return openWorld({ ...options, ledger: schema.url })
}

interface Answered {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
  readonly body: any
}

/** Asks a gateway; status 0 where it was killed. */
async function ask(
  { token }: World,
  { url }: AtUrl,
  { path, body }: { readonly path: string; readonly body?: object },
): Promise<Answered> {
  const headers = { 'content-type': 'application/json', 'x-project-identify-token': token }
  const init = body && { method: 'POST', body: JSON.stringify(body) }
  try {
    const response = await fetch(`${url}/api/v2/merchant/settlements${path}`, { headers, ...init })
    return { status: response.status, body: await response.json() }
  } catch {
    return { status: 0, body: undefined }
  }
}

/** Has three payments settled, of which one is refunded: the merchant has more than that. */
async function sell(world: World, gateway: AtUrl): Promise<{ id: string; payer: `0x${string}` }> {
  for (let count = 0; count < 3; count++)
    expect(await world.present(gateway, await world.sign(), 'settle')).toMatchObject({
      delivered: true,
    })
  return (await ask(world, gateway, { path: '?limit=1' })).body.settlements[0]
}

/** Prepares and signs a refund. */
async function sign(
  world: World,
  gateway: AtUrl,
  path: string,
): Promise<{ authorization: object; signature: string }> {
  const { body } = await ask(world, gateway, { path })
  const { EIP712Domain: _, ...types } = body.typedData.types
  const account = privateKeyToAccount(world.merchantKey)
  const signature = await account.signTypedData({ ...body.typedData, types })
  return { authorization: body.typedData.message, signature }
}

/** Kills a gateway at its next transaction: before that goes out, or after. */
function killAtSend(world: World, gateway: GatewayProcess, moment: 'before' | 'after'): void {
  let isDone = false
  world.proxy.fault = (method) => {
    if (isDone || !isSend(method)) return undefined
    isDone = true
    if (moment === 'before') {
      gateway.signal('SIGKILL')
      return { kind: 'drop_request' }
    }
    return {
      kind: 'inspect',
      see() {
        gateway.signal('SIGKILL')
        return 'drop'
      },
    }
  }
}

describe.each(databases)('a refund on %s', (database) => {
  it.each(['before', 'after'] as const)(
    'is paid once by the next process if its own is killed %s its transaction goes out',
    async (moment) => {
      const world = await open(database)
      const first = await world.start()
      const { id, payer } = await sell(world, first)
      const path = `/${id}/refunds`
      const signed = await sign(world, first, `${path}/prepare`)
      const before = await balanceOf(devnet, payer)
      killAtSend(world, first, moment)
      expect((await ask(world, first, { path, body: signed })).status).toBe(0)
      await first.kill()
      const next = await world.start()
      const refunds = async () => (await ask(world, next, { path })).body.refunds
      expect(await refunds()).toMatchObject([{ amount: PAID.toString() }])
      const more = await ask(world, next, { path: `${path}/prepare` })
      expect(more).toMatchObject({ status: 409, body: { left: '0' } })
      await until(async () => (await refunds())[0].status === 'settled')
      expect(await balanceOf(devnet, payer)).toBe(before + PAID)
      const again = await ask(world, next, { path, body: signed })
      expect(again).toMatchObject({ status: 201, body: { status: 'settled' } })
      expect(await balanceOf(devnet, payer)).toBe(before + PAID)
    },
  )

  it('never exceeds what was paid when two gateways make it at once', async () => {
    const world = await open(database)
    const gateways = await Promise.all([world.start(), world.start()])
    const [one] = gateways
    const { id, payer } = await sell(world, one)
    const path = `/${id}/refunds`
    const all = await Promise.all(
      Array.from({ length: 20 }, () => sign(world, one, `${path}/prepare?amount=4000`)),
    )
    const before = await balanceOf(devnet, payer)
    const answers = await Promise.all(
      all.map((body, index) => ask(world, gateways[index % 2]!, { path, body })),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(2)
    const others = answers.filter(({ status }) => status !== 201)
    // What is pending at once may be more than the merchant has.
    const refusals = ['refund_exceeds_payment', 'refund_refused']
    for (const { status, body } of others) {
      expect(status).toBe(409)
      expect(refusals).toContain(body.code)
    }
    const left = await ask(world, one, { path: `${path}/prepare?amount=2001` })
    expect(left.body).toMatchObject({ code: 'refund_exceeds_payment', left: '2000' })
    expect(await balanceOf(devnet, payer)).toBe(before + 8000n)
    const shown = await ask(world, gateways[1], { path: `/${id}` })
    expect(shown.body).toMatchObject({ refunded: '8000', refunds: 2 })
  })
})
