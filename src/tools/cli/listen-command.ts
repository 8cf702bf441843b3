import { once } from 'node:events'
import { WEBHOOK_EVENTS } from '../../ledger/webhooks.js'
import { EXIT, type Command, type ExitCode, type CliContext } from './command.js'
import { portFrom, readFlags, UsageError } from './flags.js'
import { fetchJson, type JsonRequest } from '../../shared/http/fetch-json.js'
import { isHttpUrl } from '../../shared/http/http-url.js'
import { PROJECT_TOKEN } from '../../shared/protocol/headers.js'
import { formatDecimal, trimDecimal } from '../../shared/money/decimal.js'
import { parseUint256 } from '../../shared/protocol/primitives.js'
import { visible } from '../../shared/protocol/visible-text.js'
import { WebhookListener, type Heard } from './webhook-listener.js'

const USAGE = `Usage: express-x402-gateway listen [--forward-to url] [--gateway url] [--token token] [--events names]
         [--port n] [--url url]

  Prints a project's webhooks and forwards them to an app in development. It registers an address of this
  machine at a gateway, verifies signatures, forwards events unchanged, and returns the app's response to
  the gateway, which retries failures. The webhook is deleted when the command ends. A gateway sends to
  this machine only with the option webhooks.allowPrivate; for one elsewhere, use a tunnel (--url).

  --forward-to   URL of the app [events are only printed]
  --gateway      the gateway's root [http://127.0.0.1:4402]
  --token        identify token of the project [the variable X402_PROJECT_TOKEN]
  --events       events, separated by commas [${WEBHOOK_EVENTS.join(',')}]
  --port         port on 127.0.0.1 to listen on [a free one]
  --url          URL that leads to that port [http://127.0.0.1:port/]`

const DEFAULT_GATEWAY = 'http://127.0.0.1:4402'

const MAX_BYTES = 1024 * 1024

const NO_GATEWAY = 'this is not the root of a gateway.'

/** More digits than any token has. */
const MAX_DECIMALS = 36

const GATEWAY_MS = 15_000

const NAMES = ['forward-to', 'gateway', 'token', 'events', 'port', 'url'] as const

export const listenCommand: Command = {
  name: 'listen',
  summary: 'Prints the webhooks of a project, and forwards them to an app in development.',
  usage: USAGE,
  async run(args, context) {
    const flags = readFlags(args, { names: NAMES })
    const token = flags['token'] ?? context.env['X402_PROJECT_TOKEN']?.trim()
    if (!token) throw new UsageError('--token is missing, and X402_PROJECT_TOKEN is not set.')
    const forwardTo = urlFrom(flags, 'forward-to')
    const gateway = (urlFrom(flags, 'gateway') ?? DEFAULT_GATEWAY).replace(/\/+$/, '')
    const events = flags['events']?.split(',').map((name) => name.trim())
    const onHeard = (heard: Heard): void => context.print(lineOf(heard))
    const listener = new WebhookListener({ forwardTo, onHeard })
    try {
      const listensAt = await listener.listen(portFrom(flags['port']) ?? 0)
      const url = urlFrom(flags, 'url') ?? listensAt
      return await hear({ listener, context }, { gateway, token, body: { url, events } })
    } finally {
      await listener.close()
    }
  },
}

interface Registration {
  readonly gateway: string
  readonly token: string
  readonly body: { readonly url: string; readonly events: readonly string[] | undefined }
}

async function hear(
  { listener, context }: { readonly listener: WebhookListener; readonly context: CliContext },
  { gateway, token, body }: Registration,
): Promise<ExitCode> {
  const endpoints = `${gateway}/api/v2/merchant/webhooks`
  const created = await call(endpoints, { token, body })
  const { id, secret } = (created ?? {}) as { id?: unknown; secret?: unknown }
  if (typeof id !== 'string' || typeof secret !== 'string')
    throw new Error(`--gateway: ${NO_GATEWAY}`)
  listener.accept(secret)
  const { print, complain, signal } = context
  print(`Listening at ${visible(body.url)} until Ctrl-C. Events are signed with ${visible(secret)}`)
  try {
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await call(`${endpoints}/${id}`, { method: 'DELETE', token }).catch(() =>
      complain(`The webhook ${visible(id)} could not be deleted: delete it at the gateway.`),
    )
  }
  return EXIT.ok
}

/** Calls the API of the gateway. @throws an error with the gateway's message, or why there is none. */
async function call(
  url: string,
  { token, ...request }: Pick<JsonRequest, 'method' | 'body'> & { readonly token: string },
): Promise<unknown> {
  const answer = await fetchJson(url, {
    ...request,
    headers: { [PROJECT_TOKEN]: token, 'Content-Type': 'application/json' },
    timeoutMs: GATEWAY_MS,
    maxBytes: MAX_BYTES,
  })
  if (answer.kind === 'no_response')
    throw new Error(`--gateway: ${new URL(url).origin} does not answer.`)
  const document = answer.kind === 'json' ? answer.document : undefined
  if (answer.status >= 200 && answer.status < 300) return document
  const { detail } = Object(document) as { detail?: unknown }
  const message = typeof detail === 'string' ? visible(detail) : NO_GATEWAY
  throw new Error(`The gateway responded with HTTP ${answer.status}: ${message}`)
}

function urlFrom(
  flags: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  const text = flags[name]
  if (text === undefined || isHttpUrl(text)) return text
  throw new UsageError(`--${name} takes an http(s) URL, not '${text}'.`)
}

/** Formats an event as a line: time, name, payment, and the app's answer. */
function lineOf({ type, timestamp, data, result }: Heard): string {
  const words = [wordOf(data['id']), wordOf(data['status']), amountOf(data)]
  const version = wordOf(data['version'])
  const all = [wordOf(timestamp), wordOf(type), ...words, version && `v${version}`, '→', result]
  return all.filter(Boolean).join(' ')
}

/** `0.5 USDC`; atomic units where the gateway does not know the token. */
function amountOf({ amount, symbol, decimals }: Readonly<Record<string, unknown>>): string {
  const units = typeof amount === 'string' ? parseUint256(amount) : undefined
  if (units === undefined) return ''
  const isKnown = typeof decimals === 'number' && decimals >= 0 && decimals <= MAX_DECIMALS
  if (!isKnown) return `${units} atomic units`
  return `${formatDecimal(trimDecimal({ units, scale: Math.trunc(decimals) }))} ${wordOf(symbol)}`
}

function wordOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? visible(String(value)) : ''
}
