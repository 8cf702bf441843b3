/** The address that a merchant is paid at: who changes it, who is told, and when it counts. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { randomBytes } from 'node:crypto'
import { checksumAddress } from '../../../src/shared/crypto/checksum-address.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import type { AdminOptions } from '../../../src/gateway/config/options/admin.js'
import { serveGateway, type GatewayApi } from '../api.js'
import { useCleanup } from '../../support/cleanup.js'
import { until } from '../../support/until.js'
import { startReceiver, type Receiver } from '../../operate/webhooks/receiver.js'
import { stores, type TestStore } from '../../operate/webhooks/stores.js'
import { ADMIN_TOKEN, adminOf, CLOSED, PAY_TO, type AdminClient } from './admin.js'

const OTHER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const THIRD = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

const BOB = { name: 'Bob', role: 'operator', token: 'a-token-of-bob-himself' } as const

describe.each(stores)('payTo, on %s', (_name, openStore) => {
  const toEnd = useCleanup()
  let ledgers: readonly LedgerStore[]
  let pass: TestStore['pass']
  let receiver: Receiver
  beforeEach(async () => {
    const store = await openStore(toEnd)
    ledgers = [store.ledger, store.another()]
    pass = (ms) => store.pass(ms)
    receiver = await startReceiver(toEnd)
  })

  async function serve(admin: Partial<AdminOptions> = {}, ledger = ledgers[0]!) {
    const served = await serveGateway({
      ...CLOSED,
      ...{ ledger, rateLimit: false, webhooks: { allowPrivate: true } },
      admin: { tokens: [ADMIN_TOKEN], people: [BOB], ...admin },
    })
    toEnd.push(() => served.close())
    return { ...served, ...adminOf(served) }
  }

  async function serveAcme(admin?: Partial<AdminOptions>): Promise<GatewayApi & AdminClient> {
    const api = await serve(admin)
    const acme = { id: 'acme', merchant: { payTo: PAY_TO } }
    expect((await api.ask('POST', '/projects', acme)).status).toBe(201)
    const body = { url: receiver.url, events: ['payment.settled'] }
    expect((await api.ask('POST', '/projects/acme/webhooks', body)).status).toBe(201)
    return api
  }

  const change = (api: AdminClient, payTo: string) =>
    api.ask('PATCH', '/projects/acme', { merchant: { payTo } })

  it('is changed by owners alone; the operator role changes everything else', async () => {
    const api = await serveAcme()
    const bob = adminOf(api, BOB.token)
    const refused = await bob.ask('PATCH', '/projects/acme', {
      merchant: { payTo: OTHER, name: 'Acme' },
    })
    expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    const others = { merchant: { name: 'Acme', payTo: checksumAddress(PAY_TO) } }
    expect(await bob.ask('PATCH', '/projects/acme', others)).toMatchObject({
      status: 200,
      body: { merchant: { name: 'Acme' } },
    })
    const { body } = await change(api, OTHER)
    expect(body).toMatchObject({ merchant: { payTo: OTHER, name: 'Acme' }, version: 3 })
    expect(body).not.toHaveProperty('nextPayTo')
  })

  it('is told to the webhooks of the project, whatever they want, and to those of the operator', async () => {
    const api = await serveAcme()
    const stranger = await startReceiver(toEnd)
    const operator = await startReceiver(toEnd)
    const deaf = await startReceiver(toEnd)
    await api.ask('POST', '/projects/shop/webhooks', { url: stranger.url })
    await api.ask('POST', '/webhooks', { url: operator.url })
    await api.ask('POST', '/webhooks', { url: deaf.url, events: ['relayer.low'] })
    await api.ask('PATCH', '/projects/acme', { merchant: { name: 'Acme' } })
    await change(api, OTHER)
    await until(() => receiver.received.length > 0 && operator.received.length > 0)
    const data = { project: 'acme', payTo: OTHER, previousPayTo: PAY_TO }
    for (const { received } of [receiver, operator])
      expect(received).toMatchObject([{ type: 'merchant.pay_to_changed', data }])
    expect([...stranger.received, ...deaf.received]).toEqual([])
    const [entry] = (await api.ask('GET', '/audit-log')).body.entries
    expect(entry).toMatchObject({ before: { payTo: PAY_TO }, after: { payTo: OTHER } })
  })

  it('waits where payToDelay is set, and can be taken back until then', async () => {
    const api = await serveAcme({ payToDelay: '2d' })
    const before = Date.now()
    const { body } = await change(api, OTHER)
    expect(body).toMatchObject({ merchant: { payTo: PAY_TO }, nextPayTo: { payTo: OTHER } })
    const waits = Date.parse(body.nextPayTo.at as string) - before
    expect(Math.abs(waits - 2 * 86_400_000)).toBeLessThan(60_000)
    await until(() => receiver.received.length >= 1)
    expect(receiver.received[0]).toMatchObject({
      data: { payTo: OTHER, previousPayTo: PAY_TO, effectiveAt: body.nextPayTo.at },
    })
    // Neither another change nor the same wish begins anew, or counts at once.
    await api.ask('PATCH', '/projects/acme', { merchant: { name: 'Acme' } })
    const same = (await change(api, OTHER.toLowerCase())).body
    expect(same).toMatchObject({ merchant: { payTo: PAY_TO }, nextPayTo: body.nextPayTo })
    const bob = adminOf(api, BOB.token)
    expect((await change(bob, PAY_TO)).status).toBe(403)
    expect((await change(bob, THIRD)).status).toBe(403)
    const back = (await change(api, PAY_TO)).body
    expect(back).toMatchObject({ merchant: { payTo: PAY_TO } })
    expect(back).not.toHaveProperty('nextPayTo')
    await until(() => receiver.received.length >= 2)
    expect(receiver.received[1]).toMatchObject({ data: { payTo: PAY_TO, previousPayTo: OTHER } })
  })

  it('refuses an address that is none, before anything waits', async () => {
    const api = await serveAcme({ payToDelay: '2d' })
    for (const payTo of ['acme.eth', '0x', null, 7])
      expect(await change(api, payTo as string)).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'merchant.payTo' }] },
      })
    expect((await api.ask('GET', '/projects/acme')).body).not.toHaveProperty('nextPayTo')
  })

  it('changes when its time has come, once for all gateways', async () => {
    const api = await serveAcme({ payToDelay: '2d' })
    const another = await serve({ payToDelay: '2d' }, ledgers[1])
    const { projects } = ledgers[0]!
    const { settings, version } = (await projects.findProject('acme'))!
    const announce = (afterMs: number, at: number) => {
      const by = { actor: 'Ada', change: randomBytes(16).toString('hex') }
      const nextPayTo = { payTo: OTHER, afterMs }
      return projects.updateProject({ id: 'acme', settings, version: at, nextPayTo }, by)
    }
    await announce(3_600_000, version)
    const early = await projects.applyNextPayTo({ id: 'acme', version: version + 1 })
    expect(early).toBe('changed')
    await announce(300, version + 1)
    await pass(300)
    for (const gateway of [api, another])
      await until(async () => {
        const { merchant, nextPayTo } = (await gateway.ask('GET', '/projects/acme')).body
        return merchant.payTo === OTHER && nextPayTo === undefined
      })
    const { entries } = (await api.ask('GET', '/audit-log?project=acme')).body
    expect(entries.map(({ actor }: { actor: string }) => actor).slice(0, 2)).toEqual([
      'gateway',
      'Ada',
    ])
    await until(() => receiver.received.length > 0)
    expect(receiver.received).toHaveLength(1)
  })
})
