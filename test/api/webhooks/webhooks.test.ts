import type { WebhookOptions } from '../../../src/gateway/config/options.js'
import { describe, expect, it } from '@jest/globals'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { WEBHOOK_EVENTS } from '../../../src/ledger/webhooks.js'
import { newEntry, steps } from '../../support/ledger-entries.js'
import { useCleanup } from '../../support/cleanup.js'
import { SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { signPayment } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import { startReceiver, withStatus } from '../../operate/webhooks/receiver.js'
import { problemOf, serveGateway } from '../api.js'
import { useOpened } from '../../support/use-opened.js'

const PATH = '/api/v2/merchant/webhooks'
const OTHER = { 'X-Project-Identify-Token': 'x402_test-token-of-another' }
const NOBODY = `we_${'0'.repeat(32)}`

const devnet = useDevnet()
const toEnd = useCleanup()
const serve = (webhooks?: WebhookOptions) => {
  const { projects } = shopOptions(devnet)
  const other = { id: 'other', tokens: [OTHER['X-Project-Identify-Token']] }
  const options = shopOptions(devnet, { projects: [...projects!, other], rateLimit: false })
  return serveGateway({ ...options, webhooks })
}
const api = useOpened(() => serve({ allowPrivate: true }))
const strict = useOpened(() => serve())

const headers = (token = SHOP_TOKEN): Record<string, string> => ({
  'X-Project-Identify-Token': token,
  'Content-Type': 'application/json',
})
const patch = (id: string, body: object, token?: string) =>
  api.send('PATCH', `${PATH}/${id}`, { headers: headers(token), body: JSON.stringify(body) })
const remove = (id: string, token?: string) =>
  api.send('DELETE', `${PATH}/${id}`, { headers: headers(token) })

/** Registers a URL, and removes it after the test. */
async function register(body: object) {
  const response = await api.post(PATH, body)
  expect(response.status).toBe(201)
  toEnd.push(() => remove(response.body.id))
  return response.body as { id: string; url: string; events: string[]; secret: string }
}

async function buy(): Promise<string> {
  const offer = await api.post('/api/v2/payment/requirements', {
    resourceUrl: 'https://shop.example/report',
    requestedAmount: 0.25,
  })
  const paymentRequirements = offer.body.accepts[0]
  const paymentPayload = await signPayment(devnet.payers[0]!, paymentRequirements)
  const settled = await api.post('/api/v2/payment/settle', { paymentPayload, paymentRequirements })
  expect(settled.body).toMatchObject({ success: true })
  return settled.body.transaction as string
}

describe('a webhook', () => {
  it('is registered with a secret that is shown once, and receives a payment as the list shows it', async () => {
    const receiver = await startReceiver(toEnd)
    const webhook = await register({ url: receiver.url })
    expect(webhook).toMatchObject({
      id: expect.stringMatching(/^we_[0-9a-f]{32}$/),
      url: receiver.url,
      events: [...WEBHOOK_EVENTS],
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    })
    const { secret, ...shown } = webhook
    expect((await api.get(`${PATH}/${webhook.id}`)).body).toEqual(shown)
    expect((await api.get(PATH)).body).toEqual({ webhooks: [shown] })
    const transaction = await buy()
    await until(() => receiver.received.length >= 1)
    const [told] = receiver.received
    receiver.verify(told!, secret)
    const { settlements } = (await api.get('/api/v2/merchant/settlements?limit=1')).body
    const { updatedAt, ...listed } = settlements[0]
    expect(told).toMatchObject({ type: 'payment.settled', data: { ...listed, version: 1 } })
    expect(told!.data).toMatchObject({ transaction, status: 'settled', amount: '250000' })
    expect(Object.keys(told!.data).toSorted()).toEqual(
      [...Object.keys(listed), 'payment', 'updatedAt', 'version'].toSorted(),
    )
    expect(Date.parse(updatedAt)).toBeGreaterThanOrEqual(Date.parse(told!.data.updatedAt))
    await until(async () => {
      const { deliveries } = (await api.get(`${PATH}/${webhook.id}/deliveries`)).body
      return deliveries[0].state === 'delivered'
    })
    expect((await api.get(`${PATH}/${webhook.id}/deliveries`)).body).toEqual({
      deliveries: [
        {
          id: told!.id,
          type: 'payment.settled',
          state: 'delivered',
          attempts: 1,
          payment: listed.id,
          version: 1,
          body: told!.text,
          createdAt: told!.timestamp,
          deliveredAt: expect.any(String),
          lastStatus: 204,
        },
      ],
    })
  })

  it('receives only the events that it asks for, and can be changed', async () => {
    const receiver = await startReceiver(toEnd)
    const { id } = await register({ url: receiver.url, events: ['payment.failed'] })
    await buy()
    const changed = await patch(id, {
      events: ['payment.corrected', 'payment.settled', 'payment.settled'],
    })
    expect(changed).toMatchObject({
      status: 200,
      body: { id, url: receiver.url, events: ['payment.settled', 'payment.corrected'] },
    })
    expect(changed.text).not.toContain('whsec_')
    await buy()
    await until(() => receiver.received.length > 0)
    expect((await api.get(`${PATH}/${id}/deliveries`)).body.deliveries).toHaveLength(1)
  })

  it('can be tested with an event that tells of no payment', async () => {
    const receiver = await startReceiver(toEnd)
    const { id, secret } = await register({ url: receiver.url, events: ['payment.failed'] })
    const sent = await api.post(`${PATH}/${id}/test`)
    expect(sent).toMatchObject({ status: 202, body: { type: 'webhook.test', state: 'pending' } })
    await until(() => receiver.received.length >= 1)
    const [told] = receiver.received
    receiver.verify(told!, secret)
    expect(told).toMatchObject({
      id: sent.body.id,
      type: 'webhook.test',
      data: { test: true, webhook: id, project: 'shop' },
    })
  })

  it('gets a new secret, while the old one still signs for a day', async () => {
    const receiver = await startReceiver(toEnd)
    const webhook = await register({ url: receiver.url })
    const rotated = await api.post(`${PATH}/${webhook.id}/rotate-secret`)
    expect(rotated.status).toBe(200)
    expect(rotated.body.secret).not.toBe(webhook.secret)
    const lasts = Date.parse(rotated.body.previousSecretUntil) - Date.now()
    expect(lasts).toBeGreaterThan(23 * 3_600_000)
    expect(lasts).toBeLessThanOrEqual(24 * 3_600_000)
    await api.post(`${PATH}/${webhook.id}/test`)
    await until(() => receiver.received.length >= 1)
    receiver.verify(receiver.received[0]!, webhook.secret)
    receiver.verify(receiver.received[0]!, rotated.body.secret)
  })

  it('shows why a delivery did not arrive, and can send it again', async () => {
    const receiver = await startReceiver(toEnd)
    receiver.respond = withStatus(500, '<b>broken</b>')
    const { id } = await register({ url: receiver.url })
    const { body: test } = await api.post(`${PATH}/${id}/test`)
    const shown = async () => (await api.get(`${PATH}/${id}/deliveries?state=pending`)).body
    await until(async () => (await shown()).deliveries[0]?.attempts === 1)
    expect((await shown()).deliveries).toMatchObject([
      {
        id: test.id,
        lastStatus: 500,
        lastError: 'The receiver responded with HTTP 500.',
        lastResponse: '<b>broken</b>',
        nextAttemptAt: expect.any(String),
      },
    ])
    receiver.respond = withStatus(200)
    const resent = await api.post(`${PATH}/${id}/deliveries/${test.id}/resend`)
    expect(resent).toMatchObject({ status: 202, body: { id: test.id, state: 'pending' } })
    await until(() => receiver.received.length >= 2)
    expect(receiver.received[1]!.id).toBe(test.id)
  })

  it('shows its deliveries page by page', async () => {
    const receiver = await startReceiver(toEnd)
    const { id } = await register({ url: receiver.url })
    for (let count = 0; count < 5; count++) await api.post(`${PATH}/${id}/test`)
    const ids: string[] = []
    for (let cursor = ''; ;) {
      const page = await api.get(`${PATH}/${id}/deliveries?limit=2${cursor}`)
      ids.push(...page.body.deliveries.map((one: { id: string }) => one.id))
      if (page.body.nextCursor === undefined) break
      cursor = `&cursor=${page.body.nextCursor}`
    }
    expect(new Set(ids).size).toBe(5)
    expect(ids).toHaveLength(5)
  })

  it('is deleted with its deliveries', async () => {
    const receiver = await startReceiver(toEnd)
    const { id } = await register({ url: receiver.url })
    expect(await remove(id)).toMatchObject({ status: 204, text: '' })
    expect(await remove(id)).toMatchObject({ status: 404 })
    expect((await api.get(`${PATH}/${id}/deliveries`)).status).toBe(404)
    await buy()
    expect((await api.get(PATH)).body).toEqual({ webhooks: [] })
  })

  it('is registered once for an Idempotency-Key, with one secret', async () => {
    const receiver = await startReceiver(toEnd)
    const key = { 'Idempotency-Key': 'hook-1' }
    const [first, second] = [
      await api.post(PATH, { url: receiver.url }, key),
      await api.post(PATH, { url: receiver.url }, key),
    ]
    toEnd.push(() => remove(first.body.id))
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body).toEqual(first.body)
    expect((await api.get(PATH)).body.webhooks).toHaveLength(1)
    expect((await api.post(PATH, { url: `${receiver.url}2` }, key)).status).toBe(409)
  })

  it('is refused with the remedy if it is the eleventh of its project', async () => {
    const receiver = await startReceiver(toEnd)
    for (let count = 0; count < 10; count++) await register({ url: receiver.url })
    const response = await api.post(PATH, { url: receiver.url })
    expect(response.body).toEqual(problemOf(409, 'too_many_webhooks', 'Conflict'))
    expect(response.body.detail).toMatch(/delete one/)
  })
})

describe('a webhook of another project', () => {
  it('is not found by any request', async () => {
    const receiver = await startReceiver(toEnd)
    const { id } = await register({ url: receiver.url })
    const { body: test } = await api.post(`${PATH}/${id}/test`)
    await until(() => receiver.received.length >= 1)
    const token = OTHER['X-Project-Identify-Token']
    const page = await api.get(`${PATH}/${id}/deliveries?limit=1`)
    const responses = [
      await api.get(`${PATH}/${id}`, OTHER),
      await api.get(`${PATH}/${id}/deliveries`, OTHER),
      await patch(id, { url: 'http://127.0.0.1:1/' }, token),
      await remove(id, token),
      await api.post(`${PATH}/${id}/rotate-secret`, undefined, OTHER),
      await api.post(`${PATH}/${id}/test`, undefined, OTHER),
      await api.post(`${PATH}/${id}/deliveries/${test.id}/resend`, undefined, OTHER),
    ]
    for (const { body } of responses) expect(body).toEqual(problemOf(404, 'not_found', 'Not Found'))
    expect((await api.get(PATH, OTHER)).body).toEqual({ webhooks: [] })
    const own = await api.post(PATH, { url: receiver.url }, OTHER)
    toEnd.push(() => remove(own.body.id, token))
    const resend = `${PATH}/${own.body.id}/deliveries/${test.id}/resend`
    expect((await api.post(resend, undefined, OTHER)).status).toBe(404)
    expect(page.body.deliveries).toHaveLength(1)
    expect((await api.get(`${PATH}/${id}`)).body.url).toBe(receiver.url)
    expect(receiver.received).toHaveLength(1)
  })

  it('receives nothing of this project', async () => {
    const receiver = await startReceiver(toEnd)
    const own = await api.post(PATH, { url: receiver.url }, OTHER)
    toEnd.push(() => remove(own.body.id, OTHER['X-Project-Identify-Token']))
    await buy()
    expect((await api.get(`${PATH}/${own.body.id}/deliveries`, OTHER)).body.deliveries).toEqual([])
  })
})

describe('a request about webhooks', () => {
  it.each([
    [{}, /'url': is missing/],
    [{ url: 7 }, /'url'/],
    [
      { url: 'https://shop.example/', event: [] },
      /'event': is not known here; did you mean 'events'/,
    ],
    [{ url: 'https://shop.example/', events: [] }, /'events': must name at least one event/],
    [{ url: 'https://shop.example/', events: ['payment.paid'] }, /'events\.0'/],
    [{ url: 'https://shop.example/', events: 'payment.settled' }, /'events'/],
    [{ url: 'ftp://shop.example/' }, /'url': must be an absolute https URL/],
    [
      { url: 'http://shop.example/' },
      /'url': must be an absolute https URL.*webhooks\.allowPrivate/,
    ],
    [{ url: 'https://user:secret@shop.example/' }, /'url': must not contain a user or password/],
    [{ url: 'https://127.0.0.1/' }, /'url': leads to 127\.0\.0\.1/],
    [{ url: 'https://[::1]/' }, /'url': leads to ::1/],
    [{ url: 'https://169.254.169.254/latest' }, /'url': leads to 169\.254\.169\.254/],
    [{ url: 'https://2852039166/latest' }, /'url': leads to 169\.254\.169\.254/],
    [{ url: 'https://nowhere.invalid/' }, /'url': has the host nowhere\.invalid/],
  ])('is refused with the reason: %j', async (body, reason) => {
    const response = await strict.post(PATH, body)
    expect(response.body).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(response.body.detail).toMatch(reason)
    expect(response.text).not.toMatch(/user:secret/)
    expect((await strict.get(PATH)).body).toEqual({ webhooks: [] })
  })

  it.each([
    'not-an-id',
    'we_%00',
    NOBODY,
    `${NOBODY}'--`,
    '..%2f..%2fsettlements',
    'we_' + 'F'.repeat(32),
  ])('answers 404 to an unknown id: %s', async (id) => {
    expect((await api.get(`${PATH}/${id}`)).status).toBe(404)
    expect((await api.get(`${PATH}/${id}/deliveries`)).status).toBe(404)
    expect((await patch(id, { events: ['payment.failed'] })).status).toBe(404)
  })

  it('needs a token, an allowed method, and known parameters', async () => {
    const none = { 'X-Project-Identify-Token': undefined }
    expect((await api.get(PATH, none)).status).toBe(401)
    const wrong = await api.send('PUT', PATH, { headers: headers() })
    expect(wrong.status).toBe(405)
    expect(wrong.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS')
    expect((await api.get(`${PATH}?page=2`)).status).toBe(400)
    const receiver = await startReceiver(toEnd)
    const { id } = await register({ url: receiver.url })
    for (const query of ['limit=0', 'limit=101', 'limit=1e1', 'cursor=x', 'state=lost', 'after=1'])
      expect((await api.get(`${PATH}/${id}/deliveries?${query}`)).status).toBe(400)
    expect((await patch(id, {})).status).toBe(400)
    expect((await patch(id, { url: 'nonsense' })).status).toBe(400)
  })
})

describe('webhooks', () => {
  it('need no merchant, and tell of payments to a project that no longer has one', async () => {
    const ledger = createMemoryLedger()
    const projects = [{ id: 'shop', tokens: [SHOP_TOKEN] }]
    const bare = await serveGateway({ projects, ledger, webhooks: { allowPrivate: true } })
    toEnd.push(() => bare.close())
    const receiver = await startReceiver(toEnd)
    expect((await bare.post(PATH, { url: receiver.url })).status).toBe(201)
    await steps.settled(ledger, newEntry({ asset: devnet.asset }))
    await until(() => receiver.received.length >= 1)
    expect(receiver.received[0]!.data).toMatchObject({ status: 'settled', symbol: 'USDC' })
  })
})
