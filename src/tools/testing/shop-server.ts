import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { Express } from 'express'
import type { Gateway } from '../../gateway/gateway.js'
import { closeServer } from '../../shared/http/close-server.js'
import { listenLocally } from '../../shared/http/listen-locally.js'
import { decodeHeader, PAYMENT_SIGNATURE, X_PAYMENT } from '../../shared/protocol/headers.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { assignGateway } from './default-stand-in.js'
import type { Failures } from './failures.js'
import { letEnd, type StayUp } from './stay-up.js'

/** Listens before the app exists: its gateway needs the URL. */
export async function listen() {
  // The client must not send on a connection that is being closed.
  const server = createServer({ keepAliveTimeout: 0 })
  const url = await listenLocally(server)
  letEnd(server)
  return {
    url,
    /** Starts to serve requests; until then they wait. */
    serve: (app: RequestListener) => void server.on('request', app),
    /** May be called again. */
    close: () => closeServer(server),
  }
}

interface Shop {
  readonly gateway: Gateway
  readonly failures: Failures
  readonly stayUp: StayUp
}

/** Makes a listener that serves an app with the gateway of its shop, and makes payments fail. */
export function shopListener(app: Express, { gateway, failures, stayUp }: Shop): RequestListener {
  return (req, res) => {
    stayUp.renew()
    assignGateway(req, gateway)
    const payer = payerOf(req)
    if (payer === undefined) return void app(req, res)
    failures.beginFor(payer, res).then(
      () => void app(req, res),
      (error: unknown) => void res.writeHead(500).end(`The failure cannot begin: ${String(error)}`),
    )
  }
}

/** The payer of a request; `undefined` without a payment. */
function payerOf({ headers }: IncomingMessage): Hex | undefined {
  const header = headers[PAYMENT_SIGNATURE.toLowerCase()] ?? headers[X_PAYMENT.toLowerCase()]
  if (typeof header !== 'string') return undefined
  const decoded = decodeHeader(header)
  if (!decoded.ok) return undefined
  const { payload } = decoded.value as {
    payload?: Partial<Record<'authorization' | 'permit2Authorization', { from?: unknown }>>
  }
  const from = (payload?.authorization ?? payload?.permit2Authorization)?.from
  return typeof from === 'string' && /^0x[0-9a-f]{40}$/i.test(from) ? (from as Hex) : undefined
}
