import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import type { Cleanup } from '../../support/cleanup.js'
import { listen } from '../../support/http.js'

/** A delivery, as a receiver gets it. */
export interface ReceivedWebhook {
  readonly id: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly type: string
  readonly timestamp: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
  readonly data: any
}

type Respond = (webhook: ReceivedWebhook, res: ServerResponse) => unknown

/** A shop that listens for webhooks. */
export interface Receiver {
  readonly url: string
  readonly received: readonly ReceivedWebhook[]
  /** How it responds from now on. At first with 204. */
  respond: Respond
  /** Verifies a delivery as a shop does, with the official library. Throws if it is not genuine. */
  verify(webhook: ReceivedWebhook, secret: string): void
}

/** Starts a receiver on a free port of 127.0.0.1. */
export async function startReceiver(toEnd: Cleanup): Promise<Receiver> {
  const received: ReceivedWebhook[] = []
  const server = await listen((req, res) => void receive(req, res))
  const receiver = {
    url: `${server.url}/hooks`,
    received,
    respond: ((_webhook, res) => res.writeHead(204).end()) as Respond,
    verify({ text, headers }: ReceivedWebhook, secret: string) {
      new Webhook(secret).verify(text, headers as Record<string, string>)
    },
  }
  async function receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const { type, timestamp, data } = JSON.parse(text) as ReceivedWebhook
    const id = String(req.headers['webhook-id'])
    const webhook = { id, headers: req.headers, text, type, timestamp, data }
    received.push(webhook)
    receiver.respond(webhook, res)
  }
  toEnd.push(() => server.close())
  return receiver
}

/** Responds with a status. */
export const withStatus =
  (status: number, text = ''): Respond =>
  (_webhook, res) =>
    res.writeHead(status).end(text)
