import { newDeliveryId } from '../../ledger/webhooks.js'
import {
  OPERATOR_EVENTS,
  TEST_EVENT,
  WEBHOOK_EVENTS,
  type OperatorEvent,
} from '../../ledger/webhooks.js'
import { closestName } from '../../shared/protocol/did-you-mean.js'
import { visibleLines } from '../../shared/protocol/visible-text.js'
import { post } from '../../operate/webhooks/post.js'
import { findReceiver, receiverRules } from '../../operate/webhooks/receiver-url.js'
import { isWebhookSecret } from '../../operate/webhooks/secret.js'
import { signedHeaders } from '../../operate/webhooks/signature.js'
import { EXIT, type Command } from './command.js'
import { readCommandLine, UsageError } from './flags.js'

const EVENTS: readonly string[] = [...WEBHOOK_EVENTS, ...OPERATOR_EVENTS, TEST_EVENT]

const USAGE = `Usage: express-x402-gateway trigger <event> --to url [--secret secret]

  Sends a sample event to an app, signed as a gateway signs it, with "test": true in its data. The exit
  code is 0 if the app responds with a status of 200 to 299.

  <event>    ${EVENTS.join(', ')}
  --to       URL of the app
  --secret   secret of the webhook [the variable X402_WEBHOOK_SECRET]`

/** How long to wait for the app's answer (ms); a gateway waits as long. */
const TIMEOUT_MS = 10_000

const TRANSACTION = `0x${'7e57'.repeat(16)}`

const network = 'eip155:84532'
const ADDRESS = '0x0000000000000000000000000000000000007E57'

const OLDEST = { payment: '7e57'.repeat(8), network, project: 'shop' }

const ALERTS: Readonly<Record<OperatorEvent, (timestamp: string) => object>> = {
  'relayer.low': () => ({ network, address: ADDRESS, balance: '0', settlements: 0 }),
  'network.failing': () => ({
    network,
    code: 'chain_unreachable',
    message: 'The node did not answer eth_getBlockByNumber.',
  }),
  'payments.pending': () => ({ ...OLDEST, pendingSeconds: 600 }),
  'payments.undelivered': () => ({ ...OLDEST, pendingSeconds: 3600 }),
  'webhook.failing': (since) => ({ webhook: `we_${'7e57'.repeat(8)}`, project: 'shop', since }),
  'errors.high': () => ({ errors: 5, settled: 5, minutes: 10 }),
  'merchant.pay_to_changed': (effectiveAt) => ({
    project: 'shop',
    payTo: ADDRESS,
    previousPayTo: '0x0000000000000000000000000000000000007e58',
    effectiveAt,
  }),
}

const isAlert = (type: string): type is OperatorEvent => Object.hasOwn(ALERTS, type)

export const triggerCommand: Command = {
  name: 'trigger',
  summary: 'Sends a sample webhook to an app in development.',
  usage: USAGE,
  async run(args, { env, print, complain, signal }) {
    const { flags, words } = readCommandLine(args, { names: ['to', 'secret'] })
    const type = eventFrom(words)
    const { to, secret = env['X402_WEBHOOK_SECRET']?.trim() } = flags
    if (to === undefined) throw new UsageError('--to is missing.')
    if (!secret) throw new UsageError('--secret is missing, and X402_WEBHOOK_SECRET is not set.')
    if (!isWebhookSecret(secret))
      throw new UsageError('--secret takes whsec_ and 24 to 64 bytes in base64.')
    const receiver = await findReceiver(to, receiverRules(true))
    if (receiver.kind === 'refused') throw new UsageError(`--to ${receiver.message}.`)
    const sentAt = Date.now()
    const body = JSON.stringify(sampleEvent(type, new Date(sentAt).toISOString()))
    const headers = signedHeaders({ id: newDeliveryId(), sentAt, body }, [secret])
    const result = await post(receiver, { headers, body, timeoutMs: TIMEOUT_MS, signal })
    if (result.kind === 'no_response') {
      complain(result.reason)
      return EXIT.failed
    }
    print(`${type} → HTTP ${result.status}`)
    if (result.text !== '') print(visibleLines(result.text))
    return result.status >= 200 && result.status < 300 ? EXIT.ok : EXIT.failed
  },
}

function eventFrom(words: readonly string[]): string {
  const [type, ...others] = words
  if (type === undefined) throw new UsageError('The name of an event is missing.')
  if (others.length > 0) throw new UsageError(`Unexpected argument '${others[0]}'.`)
  if (EVENTS.includes(type)) return type
  const meant = closestName(type, EVENTS)
  const suggestion = meant ? `did you mean ${meant}?` : `there is ${EVENTS.join(', ')}.`
  throw new UsageError(`There is no event '${type}'; ${suggestion}`)
}

function sampleEvent(type: string, timestamp: string): object {
  if (type === TEST_EVENT) return { type, timestamp, data: { test: true } }
  if (isAlert(type)) return { type, timestamp, data: { test: true, ...ALERTS[type](timestamp) } }
  const status = type.slice(type.indexOf('.') + 1)
  if (type.startsWith('checkout.'))
    return { type, timestamp, data: { test: true, ...sampleCheckout(status, timestamp) } }
  const isRefund = type.startsWith('refund.')
  const settlement = {
    id: '7e57'.repeat(8),
    payment: isRefund ? '7e58'.repeat(8) : '7e57'.repeat(8),
    ...(isRefund && { settlement: '7e58'.repeat(8) }),
    status: status === 'corrected' ? 'settled' : status,
    network: 'eip155:84532',
    testnet: true,
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    symbol: 'USDC',
    decimals: 6,
    amount: '10000',
    payer: '0x0000000000000000000000000000000000007E57',
    payTo: '0x0000000000000000000000000000000000007e58',
    nonce: `0x${'7e57'.repeat(16)}`,
    transaction: TRANSACTION,
    ...(status === 'failed' && { errorReason: 'invalid_transaction_state' }),
    reference: 'order-7',
    resource: 'https://shop.example/report/7',
    route: '/report/:id',
    ...(!isRefund && { askedPrice: '$0.01', price: '$0.01' }),
    createdAt: timestamp,
    updatedAt: timestamp,
  }
  const version = status === 'corrected' ? 2 : 1
  return { type, timestamp, data: { test: true, ...settlement, version } }
}

function sampleCheckout(status: string, timestamp: string): object {
  const id = `co_${'7e57'.repeat(8)}`
  return {
    id,
    url: `https://pay.example/pay/${id}`,
    status,
    amount: '0.01',
    currency: 'USD',
    reference: 'order-7',
    ...(status === 'paid' && { settlement: '7e57'.repeat(8), paidAt: timestamp }),
    expiresAt: timestamp,
    createdAt: timestamp,
  }
}
