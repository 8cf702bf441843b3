/** Merchants that are made while gateways run, and paid at all of them. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { join } from 'node:path'
import express from 'express'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import { ConfigError } from '../../../src/shared/errors.js'
import type { Ledger } from '../../../src/ledger/index.js'
import { memoryLedger } from '../../../src/ledger/memory-ledger.js'
import { postgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { sqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { recordLog, type ApiAnswer, type RecordedLog } from '../api.js'
import { checked } from '../../support/checked.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { listen, paymentHeader } from '../../support/http.js'
import { createSchema, findPostgres, type TestSchema } from '../../support/postgres.js'
import { paymentRequiredOf } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import { ADMIN_TOKEN, adminOf, type AdminClient } from './admin.js'
import { useCleanup, temporaryFolder } from '../../support/cleanup.js'

const devnet = useDevnet()
const root = await findPostgres()

/** How long a change may take to reach every gateway. */
const REACH_MS = 1000

/** A gateway with an admin API, and a route that is paid to `acme`. */
interface Node extends AdminClient {
  readonly url: string
  readonly log: RecordedLog
  readonly started: Promise<void>
  /** Lets the handler of a purchase go on that waits, with `?wait`. */
  release(): void
  statusOf(token: string): Promise<number>
  check: Gateway['check']
  close(): Promise<void>
}

const opened: Node[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((node) => node.close()))
})

async function open(ledger: Ledger, relayer = 0): Promise<Node> {
  const log = recordLog()
  const shop = shopOptions(devnet, { ledger, logger: log, admin: { tokens: [ADMIN_TOKEN] } })
  const relayerKeys = [devnet.relayerKeys[relayer]!]
  const networks = { 'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys } }
  const gateway = createGateway({ ...shop, networks })
  const app = express()
  app.use(gateway.gatewayRouter())
  let start = (): void => undefined
  let release = (): void => undefined
  const started = new Promise<void>((resolve) => (start = resolve))
  const released = new Promise<void>((resolve) => (release = resolve))
  app.get('/item', gateway.x402Protect('$0.01', { merchant: 'acme' }), (req, res, next) => {
    start()
    const answer = (): void => void res.json({ paidBy: req.x402?.payer })
    if ('wait' in req.query) released.then(answer).catch(next)
    else answer()
  })
  app.get(
    '/free',
    gateway.x402Protect('$0.01', { merchant: 'acme', skip: () => true }),
    (_, res) => {
      res.json({ free: true })
    },
  )
  app.use('/all', gateway.x402Protect('$0.01', { merchant: 'acme' }))
  const server = await listen(app)
  const send = async (method: string, path: string, init?: RequestInit): Promise<ApiAnswer> => {
    const response = await fetch(server.url + path, { method, ...init })
    const text = await response.text()
    const body: unknown = text === '' ? undefined : JSON.parse(text)
    return { status: response.status, headers: response.headers, text, body }
  }
  const node: Node = {
    ...adminOf({ send }),
    ...{ url: server.url, log, started, release, check: () => checked(gateway) },
    async statusOf(token) {
      const headers = { 'X-Project-Identify-Token': token }
      return (await send('GET', '/api/v2/merchant/settlements', { headers })).status
    },
    async close() {
      await server.close()
      await gateway.close()
    },
  }
  opened.push(node)
  return node
}

const merchantAt = (payTo: Hex) => ({ payTo, currency: 'USD' })

/** Asks a route what it costs, signs that, and returns the headers of the payment. */
async function sign(node: Node, payer: number, path = '/item') {
  const asked = await fetch(node.url + path)
  expect(asked.status).toBe(402)
  const { accepts, resource } = paymentRequiredOf(asked)
  const payment = await signPayment(devnet.payers[payer]!, accepts[0]!, {
    payload: { resource: { ...resource } },
  })
  return { payTo: accepts[0]!.payTo.toLowerCase(), headers: paymentHeader(payment) }
}

async function within(ms: number, condition: () => Promise<boolean>): Promise<void> {
  const start = performance.now()
  await until(condition)
  // A machine that is far slower may take its time; what is looked for is a wait that never ends.
  expect(performance.now() - start).toBeLessThan(ms * 30)
}

/** Accounts that nobody else is paid at. */
const [FIRST, SECOND] = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`] as const

describe('A route of a merchant that the configuration does not have', () => {
  it('is refused at declaration without an admin API', async () => {
    const gateway = createGateway(shopOptions(devnet))
    expect(() => gateway.x402Protect('$0.01', { merchant: 'acme' })).toThrow(ConfigError)
    await gateway.close()
  })

  it('is checked at declaration for mistakes that no merchant could mend', async () => {
    const gateway = createGateway(shopOptions(devnet, { admin: { tokens: [ADMIN_TOKEN] } }))
    const declare = () => gateway.x402Protect('$0.01', { merchant: 'acme', maxHeldBytes: -1 })
    expect(declare).toThrow(ConfigError)
    await gateway.close()
  })

  it('answers 503 until the merchant exists, and tells the operator once', async () => {
    const node = await open(memoryLedger())
    for (let index = 0; index < 5; index++) {
      const response = await fetch(`${node.url}/item`)
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).toBe('5')
      expect(await response.json()).toMatchObject({ code: 'merchant_not_configured' })
    }
    expect(node.log.lines.filter((line) => line.includes('acme'))).toHaveLength(1)
    expect((await fetch(`${node.url}/free`)).status).toBe(200)
    expect((await fetch(`${node.url}/all`, { method: 'OPTIONS' })).status).toBe(204)
  })

  it('charges for the merchant as soon as it exists, at its current settings', async () => {
    const node = await open(memoryLedger())
    await node.ask('POST', '/projects', { id: 'acme', merchant: merchantAt(FIRST) })
    const { payTo, headers } = await sign(node, 0)
    expect(payTo).toBe(FIRST)
    const before = await balanceOf(devnet, FIRST)
    expect((await fetch(`${node.url}/item`, { headers })).status).toBe(200)
    expect((await balanceOf(devnet, FIRST)) - before).toBe(10_000n)

    const late = await sign(node, 0)
    await node.ask('PATCH', '/projects/acme', { merchant: { payTo: SECOND } })
    const refused = await fetch(`${node.url}/item`, { headers: late.headers })
    expect(refused.status).toBe(402)
    expect(paymentRequiredOf(refused).accepts[0]!.payTo.toLowerCase()).toBe(SECOND)
    await node.ask('DELETE', '/projects/acme')
    expect((await fetch(`${node.url}/item`)).status).toBe(503)
    expect((await fetch(`${node.url}/item`, { headers: late.headers })).status).toBe(503)
  })

  it('is checked by check()', async () => {
    const node = await open(memoryLedger())
    await node.ask('POST', '/projects', { id: 'acme', merchant: merchantAt(FIRST) })
    const findings = await node.check()
    expect(findings.filter(({ project }) => project === 'acme')).toMatchObject([
      { subject: 'project', status: 'ok', message: expect.stringContaining('acme') },
    ])
  })

  it('finishes a payment in progress on its own terms, whatever happens to the merchant', async () => {
    const node = await open(memoryLedger())
    await node.ask('POST', '/projects', { id: 'acme', merchant: merchantAt(FIRST) })
    const path = '/item?wait'
    const { headers } = await sign(node, 1, path)
    const before = await balanceOf(devnet, FIRST)
    const bought = fetch(node.url + path, { headers })
    await node.started
    await node.ask('PATCH', '/projects/acme', { merchant: { payTo: SECOND } })
    expect((await node.ask('DELETE', '/projects/acme')).status).toBe(204)
    node.release()
    expect((await bought).status).toBe(200)
    expect((await balanceOf(devnet, FIRST)) - before).toBe(10_000n)
  })

  it('fails as a mistake of the developer if its price does not fit the merchant', async () => {
    const node = await open(memoryLedger())
    const accepts = [{ network: 'base-sepolia', asset: 'USDC' }]
    const merchant = { payTo: FIRST, accepts, minAmount: '5' }
    await node.ask('POST', '/projects', { id: 'acme', merchant })
    expect((await fetch(`${node.url}/item`)).status).toBe(500)
    await node.ask('PATCH', '/projects/acme', { merchant: { minAmount: null } })
    expect((await fetch(`${node.url}/item`)).status).toBe(402)
  })
})

/** What gateways do that share a database. */
function describeGateways(database: () => { open: () => Ledger }): void {
  it('all apply a change within a second', async () => {
    const one = await open(database().open())
    const other = await open(database().open(), 1)
    expect((await fetch(`${other.url}/item`)).status).toBe(503)
    await one.ask('POST', '/projects', { id: 'acme', merchant: merchantAt(FIRST) })
    const { body: old } = await one.ask('POST', '/projects/acme/tokens', { label: 'old' })
    await within(REACH_MS, async () => (await other.statusOf(old.token)) === 200)
    const { payTo, headers } = await sign(other, 2)
    expect(payTo).toBe(FIRST)
    expect((await fetch(`${other.url}/item`, { headers })).status).toBe(200)

    // Rotated without a gap.
    const { body: next } = await other.ask('POST', '/projects/acme/tokens', { label: 'next' })
    await within(REACH_MS, async () => (await one.statusOf(next.token)) === 200)
    expect([await one.statusOf(old.token), await other.statusOf(old.token)]).toEqual([200, 200])
    await other.ask('DELETE', `/projects/acme/tokens/${old.id}`)
    await within(REACH_MS, async () => (await one.statusOf(old.token)) === 401)
    expect(await one.statusOf(next.token)).toBe(200)

    await one.ask('DELETE', '/projects/acme')
    await within(REACH_MS, async () => (await other.statusOf(next.token)) === 401)
    expect((await fetch(`${other.url}/item`)).status).toBe(503)
  })

  it('create a project once if many try at once', async () => {
    const nodes = [await open(database().open()), await open(database().open(), 1)]
    const body = { id: 'acme', merchant: merchantAt(FIRST) }
    const create = async (node: Node): Promise<number> => {
      const { status } = await node.ask('POST', '/projects', body)
      // A busy database keeps some waiting for too long; they are told to come again.
      return status === 503 ? create(node) : status
    }
    const asked = Array.from({ length: 50 }, (_, index) => create(nodes[index % 2]!))
    const statuses = await Promise.all(asked)
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, ...Array(49).fill(409)])
  })

  it('know all projects from their first request on', async () => {
    const one = await open(database().open())
    await one.ask('POST', '/projects', { id: 'acme', merchant: merchantAt(FIRST) })
    const { body } = await one.ask('POST', '/projects/acme/tokens', {})
    const late = await open(database().open(), 1)
    const answers = [late.statusOf(body.token), fetch(`${late.url}/item`).then((r) => r.status)]
    expect(await Promise.all(answers)).toEqual([200, 402])
    expect(await late.statusOf('a-token-of-nobody-at-all')).toBe(401)
  })

  it('record when a token was last used', async () => {
    const node = await open(database().open())
    await node.ask('POST', '/projects', { id: 'acme', merchant: merchantAt(FIRST) })
    const { body } = await node.ask('POST', '/projects/acme/tokens', {})
    expect(await node.statusOf(body.token)).toBe(200)
    await until(async () => {
      const { body: list } = await node.ask('GET', '/projects/acme/tokens')
      return list.tokens[0].lastUsedAt !== undefined
    })
  })
}

describe('Gateways on one SQLite file', () => {
  let folder: string
  const toEnd = useCleanup()
  beforeEach(() => {
    folder = temporaryFolder(toEnd)
  })
  describeGateways(() => ({ open: () => sqliteLedger(join(folder, 'ledger.db')) }))
})

const describePostgres = root === undefined ? describe.skip : describe
describePostgres('Gateways on one PostgreSQL', () => {
  let schema: TestSchema
  /** Its connections can be told from those of other tests. */
  const openNamed = () => postgresLedger(`${schema.url}&application_name=${schema.name}`)
  beforeEach(async () => {
    schema = await createSchema(root!)
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((node) => node.close()))
    await schema.drop()
  })
  describeGateways(() => ({ open: openNamed }))

  it('hear of changes again after their connections were cut', async () => {
    const one = await open(openNamed())
    const other = await open(openNamed(), 1)
    await one.ask('POST', '/projects', { id: 'acme', merchant: merchantAt(FIRST) })
    const { body } = await one.ask('POST', '/projects/acme/tokens', {})
    await within(REACH_MS, async () => (await other.statusOf(body.token)) === 200)
    await schema.execute(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${schema.name}'`,
    )
    expect(await other.statusOf(body.token)).toBe(200)
    await one.ask('DELETE', `/projects/acme/tokens/${body.id}`)
    await within(REACH_MS, async () => (await other.statusOf(body.token)) === 401)
  })

  it('serve the projects that they know while the database is away, and refuse changes', async () => {
    const node = await open(openNamed())
    await node.ask('POST', '/projects', { id: 'acme', merchant: merchantAt(FIRST) })
    const { body } = await node.ask('POST', '/projects/acme/tokens', {})
    // The schema is gone for this user, as the tables are: every statement fails.
    await schema.execute(`ALTER SCHEMA ${schema.name} RENAME TO ${schema.name}_away`)
    try {
      await until(() => node.log.lines.some((line) => line.includes('Cannot read projects')))
      expect((await fetch(`${node.url}/item`)).status).toBe(402)
      const headers = { 'X-Project-Identify-Token': body.token }
      const supported = await fetch(`${node.url}/api/v2/payment/supported`, { headers })
      expect(supported.status).toBe(200)
      const change = await node.ask('PATCH', '/projects/acme', { merchant: { name: 'x' } })
      expect(change).toMatchObject({ status: 503, body: { code: 'ledger_unavailable' } })
    } finally {
      await schema.execute(`ALTER SCHEMA ${schema.name}_away RENAME TO ${schema.name}`)
    }
    await until(() => node.log.lines.some((line) => line.includes('Projects can be read')))
    expect((await node.ask('GET', '/projects/acme')).body.merchant).not.toHaveProperty('name')
    for (const line of node.log.lines) expect(line).not.toMatch(/postgres:\/\//)
  })
})
