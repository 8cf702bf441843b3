import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { describe, expect, it } from '@jest/globals'
import { recordId } from '../../../src/ledger/index.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { WEBHOOK_EVENTS, type WebhookEndpoint } from '../../../src/ledger/webhooks.js'
import { WebhookDispatcher } from '../../../src/operate/webhooks/dispatcher.js'
import { receiverRules, type ReceiverRules } from '../../../src/operate/webhooks/receiver-url.js'
import { createWebhookSecret } from '../../../src/operate/webhooks/secret.js'
import { newEntry, steps, SUBMISSION } from '../../support/ledger-entries.js'
import { recordLog } from '../../api/api.js'
import { useCleanup } from '../../support/cleanup.js'
import { until } from '../../support/until.js'
import { startReceiver, withStatus } from './receiver.js'
import { stores, type TestStore } from './stores.js'

const HOUR = 3_600_000
const LATE = `0x${'1a'.repeat(32)}` as const

describe.each(stores)('deliveries from the %s ledger', (_name, openStore) => {
  const toEnd = useCleanup()

  /** The gateways' clock: how far it is ahead, and when it stands still, if it does. */
  const clock = { aheadMs: 0, stoppedAt: undefined as number | undefined }
  const now = (): number => (clock.stoppedAt ?? Date.now()) + clock.aheadMs
  function dispatch(ledger: LedgerStore) {
    const log = recordLog()
    const dispatcher = new WebhookDispatcher({
      deliveries: ledger.webhooks.deliveries,
      webhooks: receiverRules(true),
      logger: log,
      now,
      random: () => 0.5,
      describe: ({ id, state }) => ({ id, status: state }),
    })
    toEnd.push(() => dispatcher.close())
    return { dispatcher, log }
  }

  /** @param before - Done before there is a dispatcher, which also looks by its own timer. */
  async function start(before = async (_store: TestStore): Promise<void> => undefined) {
    const store = await openStore(toEnd)
    Object.assign(clock, { aheadMs: 0, stoppedAt: undefined })
    await before(store)
    const pass = async (ms: number): Promise<void> => {
      clock.aheadMs += ms
      await store.pass(ms)
    }
    return { ...store, pass, store, ...dispatch(store.ledger) }
  }

  let names = 0
  async function register({ ledger }: TestStore, url: string): Promise<WebhookEndpoint> {
    const id = `we_${(++names).toString(16).padStart(32, '0')}`
    const secret = createWebhookSecret()
    const fields = { id, url, secret, project: 'shop', events: WEBHOOK_EVENTS }
    return (await ledger.webhooks.endpoints.create(fields))!
  }

  const sell = async (ledger: LedgerStore): Promise<string> => {
    const entry = newEntry()
    await steps.settled(ledger, entry)
    return recordId(entry)
  }

  const told = (ledger: LedgerStore, { id, project }: WebhookEndpoint) =>
    ledger.webhooks.deliveries.list({ project, endpoint: id, limit: 1000 })

  /** Waits until every delivery of an endpoint is in a state. */
  const untilAll = (ledger: LedgerStore, endpoint: WebhookEndpoint, state: string) =>
    until(async () => {
      const all = await told(ledger, endpoint)
      return all.length > 0 && all.every((one) => one.state === state)
    })

  it('arrive once, signed, with the whole settlement and its version', async () => {
    const { ledger, store, dispatcher } = await start()
    const receiver = await startReceiver(toEnd)
    const endpoint = await register(store, receiver.url)
    const payment = await sell(ledger)
    dispatcher.wake()
    await untilAll(ledger, endpoint, 'delivered')
    const [webhook, ...others] = receiver.received
    expect(others).toEqual([])
    receiver.verify(webhook!, endpoint.secret)
    expect(() => receiver.verify(webhook!, createWebhookSecret())).toThrow('No matching signature')
    expect(webhook).toMatchObject({
      type: 'payment.settled',
      data: { id: payment, status: 'settled', version: 1 },
      headers: { 'content-type': 'application/json', 'user-agent': 'express-x402-gateway' },
    })
    const age = Date.now() - Date.parse(webhook!.timestamp)
    expect(Math.abs(age)).toBeLessThan(60_000)
    const [delivery] = await told(ledger, endpoint)
    expect(delivery).toMatchObject({ id: webhook!.id, attempts: 1, lastStatus: 204 })
  })

  it('are signed with both secrets during a rotation, and with one after it', async () => {
    const { ledger, store, dispatcher } = await start()
    const receiver = await startReceiver(toEnd)
    const old = await register(store, receiver.url)
    const secret = createWebhookSecret()
    await ledger.webhooks.endpoints.rotate('shop', old.id, { secret, previousForMs: HOUR })
    await sell(ledger)
    dispatcher.wake()
    await until(() => receiver.received.length >= 1)
    receiver.verify(receiver.received[0]!, old.secret)
    receiver.verify(receiver.received[0]!, secret)
    const next = createWebhookSecret()
    await ledger.webhooks.endpoints.rotate('shop', old.id, { secret: next, previousForMs: -1 })
    await sell(ledger)
    dispatcher.wake()
    await until(() => receiver.received.length >= 2)
    receiver.verify(receiver.received[1]!, next)
    expect(() => receiver.verify(receiver.received[1]!, secret)).toThrow('No matching signature')
  })

  it('reach a receiver that was away for an hour, in the order of their versions', async () => {
    const { ledger, store, dispatcher, pass } = await start()
    const receiver = await startReceiver(toEnd)
    const endpoint = await register(store, receiver.url)
    receiver.respond = withStatus(503, 'away <script>alert(1)</script>')
    const entry = newEntry()
    await steps.failed(ledger, entry)
    await ledger.payments.markSettledLate(entry, LATE)
    dispatcher.wake()
    let attempts = 1
    for (let delay = 5000, passed = 0; passed < HOUR; delay *= 2, passed += delay) {
      await until(async () =>
        (await told(ledger, endpoint)).some((one) => one.attempts === attempts),
      )
      await pass(delay + 1000)
      attempts += 1
      dispatcher.wake()
    }
    await until(async () => (await told(ledger, endpoint)).some((one) => one.attempts === attempts))
    expect(receiver.received).toHaveLength(attempts)
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1)
    const [, first] = await told(ledger, endpoint).then((all) =>
      all.toSorted((a, b) => b.version! - a.version!),
    )
    expect(first).toMatchObject({
      state: 'pending',
      attempts: receiver.received.length,
      lastStatus: 503,
      lastError: 'The receiver responded with HTTP 503.',
      lastResponse: 'away <script>alert(1)</script>',
    })
    const from = receiver.received.length
    receiver.respond = withStatus(200)
    await pass(2 * HOUR)
    dispatcher.wake()
    await untilAll(ledger, endpoint, 'delivered')
    const arrived = receiver.received.slice(from)
    expect(arrived.map(({ type, data }) => [type, data.version])).toEqual([
      ['payment.failed', 1],
      ['payment.corrected', 2],
    ])
    expect(arrived[0]).toMatchObject({ data: { status: 'failed' } })
    expect(arrived[1]).toMatchObject({ data: { status: 'settled' } })
  })

  it('leave a dead receiver alone, however many wait, and all arrive when it is back', async () => {
    const [dead, alive] = [await startReceiver(toEnd), await startReceiver(toEnd)]
    dead.respond = withStatus(500)
    let endpoint!: WebhookEndpoint
    const { ledger, store, dispatcher, pass } = await start(async (opened) => {
      endpoint = await register(opened, dead.url)
      for (let count = 0; count < 30; count++) await sell(opened.ledger)
      clock.stoppedAt = Date.now()
    })
    dispatcher.wake()
    // Some at once, as nobody knew; then one more.
    await until(async () => (await told(ledger, endpoint)).some(({ attempts }) => attempts === 1))
    await register(store, alive.url)
    const sellBeside = async (): Promise<void> => {
      const { length } = alive.received
      await sell(ledger)
      dispatcher.wake()
      await until(() => alive.received.length > length)
    }
    for (let count = 0; count < 3; count++) await sellBeside()
    await until(() => dead.received.length >= 9)
    for (let count = 0; count < 3; count++) await sellBeside()
    for (const delay of [6000, 11_000, 22_000]) {
      const { length } = dead.received
      await pass(delay)
      dispatcher.wake()
      await until(() => dead.received.length > length)
      await sellBeside()
    }
    // Thirty-nine wait. On a slow machine it is asked again by the clock of the database, too.
    expect(dead.received.length).toBeLessThan(20)
    dead.respond = withStatus(204)
    await pass(HOUR)
    dispatcher.wake()
    await untilAll(ledger, endpoint, 'delivered')
  })

  it('end with 410, and begin again when somebody asks for one', async () => {
    const receiver = await startReceiver(toEnd)
    receiver.respond = withStatus(410)
    let endpoint!: WebhookEndpoint
    const { ledger, store, dispatcher, pass } = await start(async (opened) => {
      endpoint = await register(opened, receiver.url)
      for (let count = 0; count < 20; count++) await sell(opened.ledger)
    })
    dispatcher.wake()
    let askedAt = Date.now()
    await until(async () => {
      // A busy ledger may lose a result: the claim lapses, and the receiver is left alone until somebody asks.
      if (Date.now() - askedAt > 40_000) {
        askedAt = Date.now()
        dispatcher.wake(endpoint.id)
      }
      return (await told(ledger, endpoint)).every(({ state }) => state === 'failed')
    })
    expect((await told(ledger, endpoint)).some(({ attempts }) => attempts === 0)).toBe(true)
    const { length } = receiver.received
    await sell(ledger)
    await pass(48 * HOUR)
    receiver.respond = withStatus(204)
    const other = await startReceiver(toEnd)
    await register(store, other.url)
    await sell(ledger)
    dispatcher.wake()
    await until(() => other.received.length >= 1)
    expect(receiver.received).toHaveLength(length)
    // The last of several answers with 410 may have come after the two sales, and ended their deliveries, too.
    let soldAt = 0
    await until(async () => {
      if (Date.now() - soldAt > 40_000) {
        soldAt = Date.now()
        await sell(ledger)
        dispatcher.wake(endpoint.id)
      }
      return receiver.received.length > length
    })
  })

  it('reach a receiver soon after it is back, if they are new, however long it was away', async () => {
    const { ledger, store, dispatcher, pass } = await start()
    const receiver = await startReceiver(toEnd)
    receiver.respond = withStatus(503)
    const endpoint = await register(store, receiver.url)
    await sell(ledger)
    for (let attempts = 1; attempts < 12; attempts++) {
      dispatcher.wake()
      await until(async () =>
        (await told(ledger, endpoint)).some((one) => one.attempts === attempts),
      )
      await pass(10_000 * 2 ** attempts)
    }
    dispatcher.wake()
    await until(async () => (await told(ledger, endpoint)).some((one) => one.attempts === 12))
    receiver.respond = withStatus(204)
    await sell(ledger)
    await pass(20 * 60_000)
    dispatcher.wake()
    await until(async () => (await told(ledger, endpoint)).some((one) => one.state === 'delivered'))
    expect((await told(ledger, endpoint)).map(({ state }) => state).toSorted()).toEqual([
      'delivered',
      'pending',
    ])
  })

  it('keep `Retry-After`, in seconds and as a date', async () => {
    const { ledger, store, dispatcher, pass } = await start()
    const [busy, other] = [await startReceiver(toEnd), await startReceiver(toEnd)]
    const endpoint = await register(store, busy.url)
    for (const write of [() => '7200', () => new Date(now() + 4 * HOUR).toUTCString()]) {
      const after = write()
      const { length } = busy.received
      busy.respond = (_webhook, res) => res.writeHead(503, { 'retry-after': after }).end()
      await sell(ledger)
      dispatcher.wake()
      await until(() => busy.received.length > length)
      await until(async () => (await told(ledger, endpoint)).some((one) => one.lastStatus === 503))
      const taken = busy.received.length
      await pass(HOUR)
      await register(store, other.url)
      await sell(ledger)
      const before = other.received.length
      dispatcher.wake()
      await until(() => other.received.length > before)
      expect(busy.received).toHaveLength(taken)
      busy.respond = withStatus(204)
      await pass(4 * HOUR)
      dispatcher.wake()
      await untilAll(ledger, endpoint, 'delivered')
    }
  })

  it('are attempted again after three days, however long `Retry-After` is', async () => {
    const { ledger, store, dispatcher, pass } = await start()
    const receiver = await startReceiver(toEnd)
    receiver.respond = (_webhook, res) => res.writeHead(503, { 'retry-after': '999999999' }).end()
    const endpoint = await register(store, receiver.url)
    await sell(ledger)
    dispatcher.wake()
    await until(async () => (await told(ledger, endpoint)).some((one) => one.lastStatus === 503))
    receiver.respond = withStatus(204)
    const { length } = receiver.received
    await pass(73 * HOUR)
    await sell(ledger)
    dispatcher.wake()
    await until(() => receiver.received.length > length)
    expect(receiver.received.length).toBeGreaterThan(length)
  })

  it('are given up after three days with a log line, and arrive when sent again by hand', async () => {
    const { ledger, store, dispatcher, log, pass } = await start()
    const receiver = await startReceiver(toEnd)
    receiver.respond = withStatus(500)
    const endpoint = await register(store, receiver.url)
    await sell(ledger)
    dispatcher.wake()
    await until(() => receiver.received.length >= 1)
    await until(async () => (await told(ledger, endpoint)).every((one) => one.attempts === 1))
    await pass(73 * HOUR)
    dispatcher.wake()
    await untilAll(ledger, endpoint, 'failed')
    await until(() => log.lines.length > 0)
    expect(log.lines.join()).toMatch(/warn A webhook could not be delivered.*"project":"shop"/)
    expect(log.lines.join()).not.toContain(receiver.url)
    await pass(24 * HOUR)
    dispatcher.wake()
    receiver.respond = withStatus(200)
    const [{ id } = { id: '' }] = await told(ledger, endpoint)
    await ledger.webhooks.deliveries.resend(endpoint, id)
    dispatcher.wake()
    await untilAll(ledger, endpoint, 'delivered')
    expect(receiver.received).toHaveLength(3)
    expect(new Set(receiver.received.map((one) => one.id)).size).toBe(1)
  })

  it('are not held up by receivers that never answer', async () => {
    /** @returns Whether all is delivered before the first attempt at a silent receiver is given up. */
    const deliverBeside = async (): Promise<boolean> => {
      const { ledger, store, dispatcher } = await start()
      const slow = await startReceiver(toEnd)
      slow.respond = () => undefined
      const receiver = await startReceiver(toEnd)
      for (let count = 0; count < 3; count++) await register(store, slow.url)
      const endpoint = await register(store, receiver.url)
      for (let count = 0; count < 30; count++) await sell(ledger)
      const startedAt = performance.now()
      dispatcher.wake()
      await untilAll(ledger, endpoint, 'delivered')
      // Each endpoint has a bounded number of places.
      expect(slow.received.length).toBeLessThanOrEqual(3 * 8)
      await dispatcher.close()
      return performance.now() - startedAt < 9000
    }
    // Held up, it would never be that soon; a busy machine may need another try.
    await until(deliverBeside)
  })
})

describe('an attempt', () => {
  const toEnd = useCleanup()
  const [, openStore] = stores[0]!

  /** Delivers one event to a URL. @returns The delivery, once it was attempted. */
  async function attemptAt(url: string, rules: ReceiverRules = receiverRules(true)) {
    const { ledger } = await openStore(toEnd)
    const dispatcher = new WebhookDispatcher({
      deliveries: ledger.webhooks.deliveries,
      webhooks: rules,
      logger: recordLog(),
      now: Date.now,
      random: () => 0.5,
      describe: ({ id }) => ({ id }),
    })
    toEnd.push(() => dispatcher.close())
    const fields = { id: `we_${'0'.repeat(32)}`, project: 'shop', secret: createWebhookSecret() }
    await ledger.webhooks.endpoints.create({ ...fields, url, events: WEBHOOK_EVENTS })
    const entry = newEntry()
    await steps.submitted(ledger, entry)
    await ledger.payments.markSettled(entry, SUBMISSION.transaction)
    dispatcher.wake()
    const query = { project: 'shop', endpoint: fields.id, limit: 1 }
    await until(async () => (await ledger.webhooks.deliveries.list(query))[0]?.attempts === 1)
    return (await ledger.webhooks.deliveries.list(query))[0]!
  }

  it('follows no redirect', async () => {
    const inside = await startReceiver(toEnd)
    const receiver = await startReceiver(toEnd)
    receiver.respond = (_webhook, res) => res.writeHead(307, { location: inside.url }).end()
    const delivery = await attemptAt(receiver.url)
    expect(delivery).toMatchObject({ state: 'pending', lastStatus: 307 })
    expect(delivery.lastError).toMatch(/redirects \(HTTP 307\)\. Redirects are not followed/)
    expect(inside.received).toEqual([])
  })

  it('ends after ten seconds, and counts a status that arrived without its body', async () => {
    const [silent, endless] = [await startReceiver(toEnd), await startReceiver(toEnd)]
    silent.respond = () => undefined
    endless.respond = (_webhook, res) => {
      res.writeHead(200)
      const timer = setInterval(() => res.write('.'), 200)
      res.on('close', () => clearInterval(timer))
    }
    // At the same time, because each takes the ten seconds.
    const [unanswered, answered] = await Promise.all(
      [silent, endless].map(({ url }) => attemptAt(url)),
    )
    expect(unanswered).toMatchObject({
      state: 'pending',
      lastError: expect.stringMatching(/no response within (10|\d(\.\d+)?) s/),
    })
    expect(answered).toMatchObject({ state: 'delivered', lastStatus: 200 })
  })

  it('reads at most 64 KB of a response, and keeps 500 characters', async () => {
    const receiver = await startReceiver(toEnd)
    let written = 0
    receiver.respond = (_webhook, res) => {
      res.writeHead(500)
      const more = (): void => {
        while (written < 50_000_000 && !res.destroyed) {
          written += 65_536
          if (!res.write('😀'.repeat(16_384))) return void res.once('drain', more)
        }
        res.end()
      }
      more()
    }
    const delivery = await attemptAt(receiver.url)
    expect(delivery).toMatchObject({ lastStatus: 500, lastResponse: '😀'.repeat(250) })
    expect(written).toBeLessThan(20_000_000)
  })

  it('survives receivers that do not speak HTTP', async () => {
    for (const say of [
      '',
      'HTTP/1.1 200',
      '220 smtp ready\r\n',
      `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(100_000)}\r\n\r\n`,
    ]) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined)
        socket.end(say)
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      toEnd.push(() => server.close())
      const { port } = server.address() as AddressInfo
      const delivery = await attemptAt(`http://127.0.0.1:${port}/`)
      expect(delivery).toMatchObject({ state: 'pending', attempts: 1 })
      expect(delivery.lastError).not.toContain(String(port))
    }
  })

  it('reports that nobody listens', async () => {
    const receiver = await startReceiver(toEnd)
    await toEnd.pop()!()
    const delivery = await attemptAt(receiver.url)
    expect(delivery.lastError).toBe('The connection was refused.')
  })

  it('connects only to the checked addresses, so that a host cannot change them to private ones', async () => {
    const inside = await startReceiver(toEnd)
    const { port } = new URL(inside.url)
    const url = `https://rebind.example:${port}/hooks`
    const answers = ['93.184.215.14', '127.0.0.1', '127.0.0.1', '127.0.0.1']
    const rules = {
      allowPrivate: false,
      resolve: async () => [answers.shift() ?? '127.0.0.1'],
    }
    // The check when it is registered takes the first answer; the attempt has the next.
    await rules.resolve()
    const delivery = await attemptAt(url, rules)
    expect(delivery.lastError).toMatch(/not on the public Internet/)
    expect(inside.received).toEqual([])
    expect(answers).toHaveLength(2)
  })

  it('resolves a host once for both check and connection', async () => {
    const inside = await startReceiver(toEnd)
    const { port } = new URL(inside.url)
    let asked = 0
    const rules = { allowPrivate: true, resolve: async () => (asked++, ['127.0.0.1']) }
    const delivery = await attemptAt(`http://only-here.example:${port}/hooks`, rules)
    expect(delivery).toMatchObject({ state: 'delivered' })
    expect(asked).toBe(1)
    expect(inside.received[0]?.headers.host).toBe(`only-here.example:${port}`)
  })
})
