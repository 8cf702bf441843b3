/** Payment links that several gateways sell on one ledger, while they are killed. */
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { useCleanup, temporaryFolder, closedBy } from '../../support/cleanup.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { decodeDocument, paymentHeader } from '../../support/http.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { isSend, startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'
import { signPayment } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import type { PaymentPayload, PaymentRequired } from '../../../src/shared/protocol/payment.js'
import { startGateway, type GatewayProcess } from '../../faults/gateway-process.js'
import type { CheckoutDocument } from './shop.js'

const devnet = useDevnet()
const toEnd = useCleanup()

const TOKEN = 'x402_test-token-of-several-gateways'
const PRICE = 50_000n

/** How long a dead process holds what it worked on (ms). */
const LOCK_MS = 2000

const postgres = await findPostgres()

const ledgers: ReadonlyArray<readonly [string, () => Promise<string>]> = [
  ['SQLite', async () => join(temporaryFolder(toEnd), 'ledger.db')],
  ...(postgres === undefined
    ? []
    : [
        [
          'PostgreSQL',
          async () => {
            const schema = await createSchema(postgres)
            toEnd.push(() => schema.drop())
            return schema.url
          },
        ] as const,
      ]),
]

const earned = () => balanceOf(devnet, devnet.merchant.address)

interface Several {
  readonly proxy: RpcProxy
  start(): Promise<GatewayProcess>
}

/** Gateways of one ledger, whose node may fail. */
async function open(ledger: string): Promise<Several> {
  const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
  return {
    proxy,
    async start() {
      const gateway = await startGateway({
        network: { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys },
        payTo: devnet.merchant.address,
        token: TOKEN,
        ledger,
        lockMs: LOCK_MS,
        options: { settleTimeoutMs: 5000 },
      })
      toEnd.push(() => gateway.kill())
      return gateway
    },
  }
}

async function createLink({ url }: GatewayProcess): Promise<CheckoutDocument> {
  const response = await fetch(`${url}/api/v2/merchant/checkouts`, {
    method: 'POST',
    headers: { 'X-Project-Identify-Token': TOKEN, 'Content-Type': 'application/json' },
    body: JSON.stringify({ amount: '0.05', currency: 'USD' }),
  })
  expect(response.status).toBe(201)
  return (await response.json()) as CheckoutDocument
}

async function statusOf({ url }: GatewayProcess, { id }: CheckoutDocument) {
  const headers = { 'X-Project-Identify-Token': TOKEN }
  const response = await fetch(`${url}/api/v2/merchant/checkouts/${id}`, { headers })
  return ((await response.json()) as CheckoutDocument).status
}

async function sign(
  { url }: GatewayProcess,
  { id }: CheckoutDocument,
  payer: number,
): Promise<PaymentPayload> {
  const response = await fetch(`${url}/pay/${id}`)
  const required = decodeDocument<PaymentRequired>(response.headers.get('payment-required'))
  const payload = { resource: { ...required.resource } }
  return signPayment(devnet.payers[payer]!, required.accepts[0]!, { payload })
}

/** Presents a payment. @returns The code of a refusal, `bought`, or `lost` where no answer came. */
async function pay(
  { url }: GatewayProcess,
  { id }: CheckoutDocument,
  payment: PaymentPayload,
): Promise<string> {
  try {
    const response = await fetch(`${url}/pay/${id}`, { headers: paymentHeader(payment) })
    const body = (await response.json()) as { readonly code?: string; readonly error?: string }
    return response.status === 200 ? 'bought' : (body.code ?? body.error ?? String(response.status))
  } catch {
    return 'lost'
  }
}

/** Presents a payment until it has paid, or the link is paid by another one. */
async function payUntilDecided(
  gateway: GatewayProcess,
  link: CheckoutDocument,
  payment: PaymentPayload,
): Promise<string> {
  let told = ''
  await until(async () => {
    told = await pay(gateway, link, payment)
    return told === 'bought' || told === 'checkout_paid'
  })
  return told
}

describe.each(ledgers)('gateways on one ledger in %s', (_name, newLedger) => {
  it('charge once, however many pay at each of them at the same moment', async () => {
    const several = await open(await newLedger())
    const gateways = [await several.start(), await several.start()]
    const link = await createLink(gateways[0]!)
    const payments = await Promise.all(
      Array.from({ length: 8 }, (_, payer) => sign(gateways[payer % 2]!, link, payer)),
    )
    const before = await earned()
    const statuses = await Promise.all(
      payments.map((payment, index) => payUntilDecided(gateways[index % 2]!, link, payment)),
    )
    const paid = Array.from({ length: 7 }, () => 'checkout_paid')
    expect(statuses.toSorted()).toEqual(['bought', ...paid])
    expect((await earned()) - before).toBe(PRICE)
    expect(await statusOf(gateways[1]!, link)).toBe('paid')
  })

  it.each([
    ['before anything is sent', (method: string) => method === 'eth_estimateGas', 'drop_request'],
    ['before the transaction is sent', isSend, 'drop_request'],
    ['after the transaction was sent', isSend, 'drop_answer'],
    [
      'before the receipt is read',
      (method: string) => method === 'eth_getTransactionReceipt',
      'drop_request',
    ],
  ] as const)(
    'charge one of two buyers where the gateway of the first is killed %s',
    async (_moment, isMoment, kind) => {
      const several = await open(await newLedger())
      const first = await several.start()
      const link = await createLink(first)
      const [one, other] = [await sign(first, link, 0), await sign(first, link, 1)]
      const before = await earned()
      let isKilled = false
      several.proxy.fault = (method) => {
        if (isKilled || !isMoment(method)) return undefined
        isKilled = true
        first.signal('SIGKILL')
        return { kind }
      }
      expect(await pay(first, link, one)).toBe('lost')
      const second = await several.start()
      const statuses = await Promise.all([
        payUntilDecided(second, link, one),
        payUntilDecided(second, link, other),
      ])
      expect(statuses.toSorted()).toEqual(['bought', 'checkout_paid'])
      expect((await earned()) - before).toBe(PRICE)
      await until(async () => (await statusOf(second, link)) === 'paid')
    },
  )
})
