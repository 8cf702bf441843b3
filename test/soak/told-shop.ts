import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { transactionOf } from '../../src/ledger/record-transaction.js'
import { openCommittedStates } from '../faults/committed-state.js'
import type { AtUrl, World } from '../faults/world.js'
import type { Random } from './random.js'

/** What becomes of an event at the shop, and how often. */
const SLOW = { probability: 0.02, ms: 3000 }
const FAILURE_PROBABILITY = 0.05
/** The shop has booked the event, and its answer is lost. */
const LOST_PROBABILITY = 0.02
/** Events between two times in which nobody listens. */
const EVENTS_PER_ABSENCE = 250
const ABSENCE_MS = 4000

/** Milliseconds for which the last events are waited for: some are tried again after 40 s. */
const PATIENCE_MS = 240_000

const WEBHOOKS = '/api/v2/merchant/webhooks'

/** What the shop is told of a payment. */
interface Told {
  readonly type: string
  readonly data: {
    readonly id: string
    readonly version: number
    readonly status: string
    readonly transaction?: string
  }
}

/** A shop that is told of its payments by webhook, and is slow, fails or is away now and then. */
export class ToldShop {
  readonly #world: World
  readonly #random: Random
  readonly #states
  readonly #server = createServer((req, res) => void this.#receive(req, res))
  #endpoint = { id: '', secret: '' }
  #port = 0
  #returning: Promise<void> | undefined
  /** Every event by its `webhook-id`, in the order in which they came first. */
  readonly #told = new Map<string, Told>()
  readonly #violations: string[] = []
  readonly #counts = { requests: 0, slow: 0, failures: 0, lostAnswers: 0, absences: 0 }

  constructor(world: World, random: Random) {
    this.#world = world
    this.#random = random
    this.#states = openCommittedStates(world.ledger)
  }

  /** What happened, for the report. */
  get figures(): object {
    return { events: this.#told.size, ...this.#counts }
  }

  /** Listens, and asks a gateway to be told of everything. */
  async open(gateway: AtUrl): Promise<void> {
    await this.#listen()
    const url = `http://127.0.0.1:${this.#port}/hooks`
    this.#endpoint = await this.#ask(gateway, '', { method: 'POST', body: JSON.stringify({ url }) })
  }

  /** Waits until every event has arrived. @returns What must not be. */
  async violations(gateway: AtUrl): Promise<readonly string[]> {
    const deadline = performance.now() + PATIENCE_MS
    let missing = await this.#missing(gateway)
    while (missing.length > 0 && performance.now() < deadline) {
      await sleep(1000)
      missing = await this.#missing(gateway)
    }
    return [...this.#violations, ...missing, ...this.#outOfOrder()]
  }

  async close(): Promise<void> {
    await this.#returning
    this.#server.close().closeAllConnections()
    await this.#states.close()
  }

  async #listen(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** Nobody listens for a while. */
  async #leave(): Promise<void> {
    this.#counts.absences += 1
    const closed = once(this.#server, 'close')
    this.#server.close().closeAllConnections()
    await closed
    await sleep(ABSENCE_MS)
    await this.#listen()
    this.#returning = undefined
  }

  async #receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    // The gateway may be killed, and the shop may leave, in the middle.
    await this.#book(req, res).catch(() => res.destroy())
  }

  async #book(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const counts = this.#counts
    counts.requests += 1
    if (this.#random.chance(FAILURE_PROBABILITY)) {
      counts.failures += 1
      return void res.writeHead(500).end('not today')
    }
    await this.#check(text, req.headers as Record<string, string>)
    if (this.#random.chance(SLOW.probability)) {
      counts.slow += 1
      await sleep(SLOW.ms)
    }
    if (counts.requests % EVENTS_PER_ABSENCE === 0) this.#returning ??= this.#leave()
    if (!this.#random.chance(LOST_PROBABILITY)) return void res.writeHead(204).end()
    counts.lostAnswers += 1
    res.destroy()
  }

  async #check(text: string, headers: Record<string, string>): Promise<void> {
    try {
      new Webhook(this.#endpoint.secret).verify(text, headers)
    } catch (error) {
      this.#violations.push(`not genuine: ${String(error)} in ${text}`)
      return
    }
    const told = JSON.parse(text) as Told
    const state = await this.#states.read(told.data.id)
    const { status, id } = told.data
    if (status === 'settled' && state !== 'settled')
      this.#violations.push(`told before it was committed: ${id} is ${state}`)
    const name = headers['webhook-id'] ?? ''
    if (!this.#told.has(name)) this.#told.set(name, told)
  }

  /** Payments whose end the shop was not told of, and deliveries that did not arrive. */
  async #missing(gateway: AtUrl): Promise<readonly string[]> {
    const last = new Map([...this.#told.values()].map(({ data }) => [data.id, data]))
    const untold = (await this.#world.records())
      .filter(({ state }) => state === 'settled' || state === 'failed')
      .filter((record) => {
        const data = last.get(record.id)
        return data?.status !== record.state || data.transaction !== transactionOf(record)
      })
      .map(({ id, state }) => `the shop was not told that ${id} is ${state}`)
    const undelivered = await this.#undelivered(gateway)
    return [...untold, ...undelivered]
  }

  async #undelivered(gateway: AtUrl): Promise<readonly string[]> {
    const missing: string[] = []
    let cursor = ''
    do {
      const path = `/${this.#endpoint.id}/deliveries?limit=100${cursor}`
      const page: DeliveryPage = await this.#ask(gateway, path)
      for (const { id, type, state } of page.deliveries)
        if (state !== 'delivered' || !this.#told.has(id)) missing.push(`${type} ${id} is ${state}`)
      cursor = page.nextCursor === undefined ? '' : `&cursor=${page.nextCursor}`
    } while (cursor !== '')
    return missing
  }

  /** Of each payment the events must have come first in the order of their versions, none left out. */
  #outOfOrder(): readonly string[] {
    const versions = new Map<string, number[]>()
    for (const { data } of this.#told.values())
      versions.set(data.id, [...(versions.get(data.id) ?? []), data.version])
    return [...versions]
      .filter(([, own]) => own.some((version, index) => version !== index + 1))
      .map(([id, own]) => `the events of ${id} came in this order: ${own.join(', ')}`)
  }

  async #ask<T>(gateway: AtUrl, path: string, init: RequestInit = {}): Promise<T> {
    const response = await fetch(gateway.url + WEBHOOKS + path, {
      ...init,
      headers: {
        'content-type': 'application/json',
        'x-project-identify-token': this.#world.token,
      },
    })
    if (!response.ok) throw new Error(`${path}: HTTP ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }
}

interface DeliveryPage {
  readonly deliveries: readonly {
    readonly id: string
    readonly type: string
    readonly state: string
  }[]
  readonly nextCursor?: string
}
