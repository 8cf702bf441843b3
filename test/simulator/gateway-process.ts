/** A gateway as a process that may die at any time: an Express app, whose requests come without sockets. */
import express, { type Express, type Request, type Response } from 'express'
import inject, { type Response as Injected } from 'light-my-request'
import { createGateway } from '../../src/gateway/gateway.js'
import type { Gateway } from '../../src/gateway/gateway-interface.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import type { VisitReport } from '../faults/gateway-process.js'
import { NOBODY, type Life, type Scheduler } from './scheduler.js'

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export interface Question {
  readonly method?: 'GET' | 'POST'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Names the request in what the process tells. */
  readonly visit?: string
  /** Whose address the gateway sees. */
  readonly remoteAddress?: string
  /** When the client closes its connection (ms). */
  readonly patienceMs: number
  /** Called if its process dies with the request, or if an answer was let out that its client did not wait for. */
  readonly onLost?: () => void
}

/** How long a request is on its way, each way (ms). */
const LATENCY_MS = 3

const NUMBER = 'x-request-number'
const VISIT = 'x-visit'

export class GatewayProcess {
  readonly life: Life
  /** What it tells of requests that have a name. */
  readonly visits: VisitReport[] = []
  readonly #scheduler: Scheduler
  readonly #open = new Map<number, { readonly lose: () => void; response?: Response }>()
  #requests = 0
  #app: Express | undefined

  constructor(name: string, scheduler: Scheduler) {
    this.life = { name, isDead: false, clockAheadMs: 0 }
    this.#scheduler = scheduler
  }

  get endedBy(): 'SIGKILL' | undefined {
    return this.life.isDead ? 'SIGKILL' : undefined
  }

  /** Starts, in an event of its own. */
  start(options: () => GatewayOptions, routes: (app: Express, gateway: Gateway) => void): void {
    this.#scheduler.after(
      0,
      () => {
        const app = express()
        app.disable('x-powered-by')
        app.use((req: Request, res, next) => {
          const open = this.#open.get(Number(req.get(NUMBER)))
          if (open !== undefined) open.response = res
          this.tell(req, { event: 'took' })
          // As Node's own requests and sockets have it.
          Object.assign(req, { headersDistinct: {} })
          req.socket.destroy = () => {
            hangUp(res)
            return req.socket
          }
          next()
        })
        routes(app, createGateway(options()))
        this.#app = app
      },
      this.life,
    )
  }

  tell(req: Request, report: Omit<VisitReport, 'visit'>): void {
    const visit = req.get(VISIT)
    if (visit !== undefined) this.visits.push({ visit, ...report })
  }

  /** Ends at once, as by SIGKILL: what is on its way gets no answer. */
  kill(): void {
    this.life.isDead = true
    for (const { lose } of this.#open.values()) this.#scheduler.after(1, lose, NOBODY)
    this.#open.clear()
  }

  /** Asks as a client does. @returns `undefined` if no answer came. */
  ask({
    patienceMs,
    headers,
    body,
    visit,
    onLost,
    ...asked
  }: Question): Promise<Answered | undefined> {
    const scheduler = this.#scheduler
    if (this.life.isDead) return scheduler.wait(1).then(() => undefined)
    const number = ++this.#requests
    return new Promise((resolve) => {
      const end = (answer?: Answered): void => {
        late.work = undefined
        this.#open.delete(number)
        resolve(answer)
      }
      const lose = (): void => {
        onLost?.()
        end()
      }
      this.#open.set(number, { lose })
      const late = scheduler.after(
        patienceMs,
        () => {
          const response = this.#open.get(number)?.response
          scheduler.after(0, () => response && hangUp(response), this.life)
          end()
        },
        NOBODY,
      )
      scheduler.after(
        LATENCY_MS,
        () => {
          const app = this.#app
          if (app === undefined) return void scheduler.after(1, () => end(), NOBODY)
          inject(app as never, {
            ...asked,
            ...(body !== undefined && { payload: body }),
            headers: {
              ...headers,
              ...(visit !== undefined && { [VISIT]: visit }),
              host: 'shop.example',
              [NUMBER]: String(number),
            },
          }).then(
            (response) => {
              if (!this.#open.has(number)) onLost?.()
              const { statusCode: status, payload } = response
              const sent = { event: 'sent', status, good: goodIn(asked.url, payload) } as const
              if (visit !== undefined) this.visits.push({ visit, ...sent, isConnected: true })
              return void scheduler.after(LATENCY_MS, () => end(answeredBy(response)), NOBODY)
            },
            () => void scheduler.after(LATENCY_MS, () => end(), NOBODY),
          )
        },
        this.life,
      )
    })
  }
}

/** Does what Node does when a connection is closed: Express's prototype hides how light-my-request would do it. */
function hangUp(response: Response): void {
  if (response.destroyed) return
  response.destroyed = true
  response.emit('close')
}

/** What an answer brings: what its handler has made, or the link that it is for. */
export function goodIn(url: string, body: string): string {
  return /"good":"([^"]+)"/.exec(body)?.[1] ?? url
}

function answeredBy({ statusCode, headers, payload }: Injected): Answered {
  return { status: statusCode, headers, body: payload }
}
