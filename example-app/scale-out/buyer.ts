/** A buyer that asks the next gateway, with the same payment, where one fails. */
import { setTimeout as sleep } from 'node:timers/promises'
import { signPaymentFor } from '../buy.js'

/** Milliseconds after which a payment that was not answered counts as failed. */
const PATIENCE_MS = 120_000

/** Longest pause before the same payment is presented again. */
const PAUSE_MS = 250

/** What came of one purchase. */
export interface Purchase {
  /** Number of the gateway that has sold. */
  readonly soldBy: string | undefined
  /** How often the payment had to be presented again. */
  readonly retries: number
  /** Why it failed. */
  readonly failure: string | undefined
}

/** Gateways by their numbers, in turn. */
export type NextGateway = () => { readonly name: string; readonly url: string }

/** Buys once. The payment has an id of its own, so that a lost answer is given again. */
export async function purchase(next: NextGateway, key: `0x${string}`): Promise<Purchase> {
  const deadline = Date.now() + PATIENCE_MS
  const signature = await signAnywhere(next, key)
  let failure = 'no gateway'
  for (let retries = 0; Date.now() < deadline; retries++) {
    const { name, url } = next()
    const headers = { 'PAYMENT-SIGNATURE': signature }
    const answer = await fetch(`${url}/weather`, { headers }).catch(() => undefined)
    if (answer?.status === 200) return { soldBy: name, retries, failure: undefined }
    const text = await answer?.text().catch(() => '')
    failure = answer ? `${answer.status} ${text}` : 'no answer'
    // 503: nothing was charged, or it is not known yet. Either way the same payment may come again.
    if (answer !== undefined && answer.status !== 503)
      return { soldBy: undefined, retries, failure }
    await sleep(PAUSE_MS)
  }
  return { soldBy: undefined, retries: 0, failure }
}

/** Signs for the price that some gateway names. All name the same. */
async function signAnywhere(next: NextGateway, key: `0x${string}`): Promise<string> {
  for (;;) {
    const { url } = next()
    const signature = await signPaymentFor(`${url}/weather`, key, { withId: true }).catch(() => '')
    if (signature !== '') return signature
    await sleep(PAUSE_MS)
  }
}
