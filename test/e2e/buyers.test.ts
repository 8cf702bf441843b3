/** Clients of the npm registry, unmodified, at one and the same route. */
import type * as Dexter from '@dexterai/x402/client'
import { wrap as faremeterFetch } from '@faremeter/fetch'
import { createPaymentHandler } from '@faremeter/payment-evm/exact'
import { createLocalWallet } from '@faremeter/wallet-evm'
import { beforeEach, expect, it } from '@jest/globals'
import { x402Client as PayAiClient } from '@payai/x402/client'
import { x402HTTPClient as PayAiHttpClient } from '@payai/x402/http'
import { wrapAxiosWithPaymentFromConfig } from '@x402/axios'
import { ExactEvmScheme } from '@x402/evm'
import axios, { type AxiosInstance } from 'axios'
import type { RequestHandler, Response as ExpressResponse } from 'express'
import type { IncomingHttpHeaders } from 'node:http'
import { createRequire } from 'node:module'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { withPaymentInterceptor } from 'x402-axios'
import { wrapFetchWithPayment } from 'x402-fetch'
import { payingFetch } from '../../example-app/buy.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { mppFetch } from '../support/mpp.js'
import { paymentRequiredOf, useShop } from '../support/shop.js'

// Its ES modules import names from Solana's packages, which `overrides` in package.json replaces.
const dexter = createRequire(import.meta.url)('@dexterai/x402/client') as typeof Dexter

const NETWORK = 'eip155:84532'
const PRICE = 10_000n
const devnet = useDevnet()
const income = () => balanceOf(devnet, devnet.merchant.address)

/** Requests to the route in the current test: their headers as they came, and their answers. */
const visits: { readonly headers: IncomingHttpHeaders; readonly res: ExpressResponse }[] = []
let copiesSold = 0
beforeEach(() => {
  visits.length = 0
  copiesSold = 0
})
const statuses = () => visits.map(({ res }) => res.statusCode)

const watch: RequestHandler = ({ headers }, res, next) => {
  visits.push({ headers: { ...headers }, res })
  next()
}
const shop = useShop(devnet, (app, gateway) => {
  const paid = gateway.x402Protect('$0.01', { v1: true, protocols: ['x402', 'mpp'] })
  app.get('/paid', watch, paid, (req, res) => {
    copiesSold++
    res.json({ paidBy: req.x402?.payer })
  })
})

/** What a client was given. */
interface Bought {
  readonly status: number
  readonly body: unknown
}

async function buyByFetch(paying: typeof fetch, url: string): Promise<Bought> {
  const response = await paying(url)
  return { status: response.status, body: await response.json() }
}

async function buyByAxios(paying: AxiosInstance, url: string): Promise<Bought> {
  const { status, data } = await paying.get(url)
  return { status, body: data }
}

/** PayAI's package has a client but no `fetch`, and takes the schemes of `@x402/evm`. */
function payAiFetch(privateKey: Hex): typeof fetch {
  const scheme = new ExactEvmScheme(privateKeyToAccount(privateKey))
  const client = new PayAiHttpClient(new PayAiClient().register(NETWORK, scheme))
  return async (input, init) => {
    const { headers } = await fetch(input, init)
    const required = client.getPaymentRequiredResponse((name) => headers.get(name))
    const payment = await client.createPaymentPayload(required)
    return fetch(input, { ...init, headers: client.encodePaymentSignatureHeader(payment) })
  }
}

/** The header that carries a payment, and what the same payment gets when it is presented again. */
interface Protocol {
  readonly header: string
  readonly again: { readonly status: number; readonly error?: string }
}
const refused = { status: 402, error: 'invalid_exact_evm_nonce_already_used' }
const version1: Protocol = { header: 'x-payment', again: refused }
const version2: Protocol = { header: 'payment-signature', again: refused }
// A credential gets its answer again, for which nothing runs.
const mpp: Protocol = { header: 'authorization', again: { status: 200 } }

/** Each client, the protocol by which it pays, and how it buys. */
const buyers: readonly (readonly [
  name: string,
  protocol: Protocol,
  buy: (privateKey: Hex, url: string) => Promise<Bought>,
])[] = [
  [
    'x402-fetch 1.2',
    version1,
    (key, url) => buyByFetch(wrapFetchWithPayment(fetch, privateKeyToAccount(key)), url),
  ],
  [
    'x402-axios 0.7',
    version1,
    (key, url) => buyByAxios(withPaymentInterceptor(axios.create(), privateKeyToAccount(key)), url),
  ],
  ['@x402/fetch 2.27', version2, (key, url) => buyByFetch(payingFetch(key), url)],
  [
    '@x402/axios 2.11',
    version2,
    (key, url) => {
      const client = new ExactEvmScheme(privateKeyToAccount(key))
      const schemes = [{ network: NETWORK, client } as const]
      return buyByAxios(wrapAxiosWithPaymentFromConfig(axios.create(), { schemes }), url)
    },
  ],
  ['@payai/x402 2.4', version2, (key, url) => buyByFetch(payAiFetch(key), url)],
  [
    '@dexterai/x402 2.0',
    version2,
    (key, url) => {
      const rpcUrls = { [NETWORK]: devnet.rpcUrl }
      const options = { evmPrivateKey: key, rpcUrls, maxAmountAtomic: String(PRICE) }
      return buyByFetch(dexter.wrapFetch(fetch, options), url)
    },
  ],
  [
    '@faremeter/fetch 0.22',
    version2,
    async (key, url) => {
      const wallet = await createLocalWallet(baseSepolia, key)
      const handlers = [createPaymentHandler(wallet)]
      return buyByFetch(faremeterFetch(fetch, { handlers }) as typeof fetch, url)
    },
  ],
  ['mppx 0.11', mpp, (key, url) => buyByFetch(mppFetch(key), url)],
]

it.each(buyers)('%s buys, and pays once', async (_name, { header, again }, buy) => {
  const payer = devnet.payers[0]!
  const before = await income()
  expect(await buy(payer.privateKey, `${shop.url}/paid`)).toEqual({
    status: 200,
    body: { paidBy: payer.address },
  })
  expect(statuses()).toEqual([402, 200])
  expect((await income()) - before).toBe(PRICE)

  const sent = String(visits[1]?.headers[header])
  const repeated = await shop.ask('/paid', { headers: { [header]: sent } })
  const error = repeated.ok ? undefined : paymentRequiredOf(repeated).error
  expect({ status: repeated.status, error }).toEqual(again)
  expect(copiesSold).toBe(1)
  expect((await income()) - before).toBe(PRICE)
})

it.each(buyers)('%s gets nothing for an empty wallet', async (_name, _protocol, buy) => {
  const before = await income()
  const bought = buy(generatePrivateKey(), `${shop.url}/paid`)
  // Some throw, each an error of its own.
  const status = await bought.then(
    (one) => one.status,
    () => 402,
  )
  expect(status).toBe(402)
  expect(new Set(statuses())).toEqual(new Set([402]))
  expect(copiesSold).toBe(0)
  expect(await income()).toBe(before)
})
