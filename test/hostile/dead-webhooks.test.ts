/** Merchants whose 1,000 webhooks never answer, or always refuse: what they get, and how long an honest one waits. */
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import type { LedgerStore } from '../../src/ledger/index.js'
import { WEBHOOK_EVENTS, type WebhookEndpoint } from '../../src/ledger/webhooks.js'
import { WebhookDispatcher } from '../../src/operate/webhooks/dispatcher.js'
import { receiverRules } from '../../src/operate/webhooks/receiver-url.js'
import { recordLog } from '../api/api.js'
import { useCleanup, type Cleanup } from '../support/cleanup.js'
import { until } from '../support/until.js'
import { startReceiver, withStatus } from '../operate/webhooks/receiver.js'
import { storeMakers } from './stores.js'

const MERCHANTS = 100
/** Webhooks of each, as many as it may have. */
const EACH = 10
/** Attempts of all projects at once. */
const PLACES = 36

const newEndpoint = async (
  { webhooks }: LedgerStore,
  project: string,
  url: string,
): Promise<WebhookEndpoint> =>
  (await webhooks.endpoints.create({
    ...{ id: `we_${project}_${Math.random()}`, project, url },
    ...{ events: WEBHOOK_EVENTS, secret: `whsec_${'ab'.repeat(16)}` },
  }))!

const tell = ({ webhooks }: LedgerStore, endpoint: WebhookEndpoint) =>
  webhooks.deliveries.add({ endpoint, type: 'webhook.test', data: {} })

/** A ledger with an event for each of the dead webhooks, and for an honest one that is not told yet. */
async function open(store: LedgerStore, toEnd: Cleanup) {
  const [dead, alive] = [await startReceiver(toEnd), await startReceiver(toEnd)]
  for (let n = 0; n < MERCHANTS; n++)
    await Promise.all(
      Array.from({ length: EACH }, async () =>
        tell(store, await newEndpoint(store, `dead-${n}`, dead.url)),
      ),
    )
  const honest = await newEndpoint(store, 'honest', alive.url)
  const dispatcher = new WebhookDispatcher({
    ...{ deliveries: store.webhooks.deliveries, webhooks: receiverRules(true) },
    ...{ logger: recordLog(), now: Date.now, describe: () => ({}) },
  })
  toEnd.push(() => dispatcher.close())
  return { dead, alive, honest, dispatcher }
}

describe.each(storeMakers)('an honest webhook beside 1,000 dead ones in %s', (name, make) => {
  const toEnd = useCleanup()

  it('is told while all others hang, and beside those that refuse', async () => {
    const attack = async (): Promise<boolean> => {
      const maker = await make()
      if (maker === undefined) return true
      toEnd.push(() => maker.drop())
      const store = maker.open()
      toEnd.push(() => store.close())
      const { dead, alive, honest, dispatcher } = await open(store, toEnd)
      const held: ServerResponse[] = []
      dead.respond = (_webhook, res) => void held.push(res)
      dispatcher.wake()
      await until(() => held.length >= PLACES)
      const at = performance.now()
      await tell(store, honest)
      dispatcher.wake()
      await until(() => alive.received.length >= 1)
      const hangingMs = Math.round(performance.now() - at)
      const [hanging, ended] = [held.length, held.filter(({ closed }) => closed).length]
      process.stdout.write(`${name}: told after ${hangingMs} ms beside ${hanging} that hang\n`)

      dead.respond = withStatus(500)
      for (const res of held) res.writeHead(500).end()
      await until(() => dead.received.length >= 2 * MERCHANTS * EACH)
      const [again, cpu] = [performance.now(), process.cpuUsage()]
      await tell(store, honest)
      dispatcher.wake()
      await until(() => alive.received.length >= 2)
      const refusingMs = Math.round(performance.now() - again)
      const { user } = process.cpuUsage(cpu)
      process.stdout.write(
        `${name}: told after ${refusingMs} ms beside 1,000 that refuse, with ${Math.round(user / 1000)} ms of CPU\n`,
      )
      await dispatcher.close()
      // None of those that hang has run out of time: on a busy machine, it may, and is tried again.
      return ended === 0
    }
    await until(attack)
    expect.assertions(0)
  })
})
