/** A second scheme, beside `exact`, is a class and an entry of a map: no face has to know it. */
import { describe, expect, it } from '@jest/globals'
import express, { type RequestHandler } from 'express'
import { resolveOptions } from '../../../src/gateway/config/resolve/resolve-options.js'
import { MERCHANT, PAYERS } from '../../../src/tools/devnet/accounts.js'
import { httpFacilitator } from '../../../src/core/facilitator/http/http-facilitator.js'
import { createSchemeFacilitator } from '../../../src/core/facilitator/scheme-facilitator.js'
import { Catalogue } from '../../../src/core/catalogue/catalogue.js'
import { DeclaredRoutes } from '../../../src/sell/discovery/declared-routes.js'
import { Counters } from '../../../src/ledger/counters.js'
import { lowerHex } from '../../../src/shared/protocol/hex.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { quoteSecret } from '../../../src/core/quotes/quote-secret.js'
import { merchantReader } from '../../../src/gateway/config/resolve/projects.js'
import { ProjectDirectory } from '../../../src/core/merchants/project-directory.js'
import { OpenRequests } from '../../../src/shared/http/open-requests.js'
import { QuoteSigner } from '../../../src/core/quotes/signed-quote.js'
import { createX402Protect, openPaidRoutes } from '../../../src/sell/flow/x402-protect.js'
import { createGatewayRouter } from '../../../src/api/gateway-router.js'
import { Downloads } from '../../../src/api/settlements/download/downloads.js'
import { RevenueReader } from '../../../src/api/settlements/views/revenue-reader.js'
import { createEventBus } from '../../../src/core/schemes/events.js'
import type {
  PresentedPayment,
  Refusal,
  Reservation,
  Scheme,
  SchemeFormat,
  Verified,
} from '../../../src/core/schemes/scheme.js'
import { usdc } from '../../support/core.js'
import { SHOP_TOKEN } from '../../support/devnet.js'
import { listen, paymentHeader } from '../../support/http.js'
import { paymentRequiredOf, settlementOf } from '../../support/shop.js'
import { useOpened } from '../../support/use-opened.js'

const payer = PAYERS[0]!.address
const network = 'eip155:84532'
const transaction = `0x${'cd'.repeat(32)}`

/** A voucher has no authorization: the scheme knows what it is worth. */
const FACTS = {
  payer: lowerHex(payer),
  payTo: lowerHex(MERCHANT.address),
  amount: 10_000n,
  validAfter: 0n,
  validBefore: 2n ** 40n,
  nonce: `0x${'0'.repeat(64)}`,
} as const

/** Pays with vouchers that are good once: no chain, no signature. */
class VoucherScheme implements Scheme {
  readonly format: SchemeFormat = {
    offers: () => [{ vouchers: 'accepted' }],
    decode: ({ voucher }) =>
      typeof voucher === 'string'
        ? { ok: true, value: { ...FACTS, signed: voucher } }
        : { ok: false, errors: [{ path: 'voucher', message: 'is missing' }] },
    isSignedByPayer: async () => true,
  }
  readonly #spent = new Set<string>()

  async verify({ payment }: PresentedPayment): Promise<Verified | Refusal> {
    const { voucher } = payment.payload.payload
    if (typeof voucher !== 'string') return { refused: 'invalid_payload' }
    if (this.#spent.has(voucher))
      return { refused: 'duplicate_settlement', payer, offerExtra: { spent: voucher } }
    return { payer, reserve: async () => this.#reserve(voucher) }
  }

  supported() {
    return { networks: [network], signers: { 'eip155:*': [MERCHANT.address] } }
  }

  #reserve(voucher: string): Reservation {
    this.#spent.add(voucher)
    const release = async (): Promise<void> => void this.#spent.delete(voucher)
    const settle = async () => ({ success: true, transaction, network, payer }) as const
    return {
      payer,
      settle,
      release,
      markDelivered: async () => undefined,
      reopen: release,
      undeliver: release,
    }
  }
}

describe('a scheme beside exact', () => {
  let quotedPrice = '$0.01'
  const happened: string[] = []
  const server = useOpened(() => {
    const resolved = resolveOptions({
      facilitator: httpFacilitator({ url: 'http://127.0.0.1:9' }),
      networks: { 'base-sepolia': {} },
      projects: [
        {
          id: 'shop',
          tokens: [SHOP_TOKEN],
          merchant: {
            name: 'Shop',
            payTo: MERCHANT.address,
            currency: 'USD',
            accepts: [{ network: 'base-sepolia', asset: 'USDC' }],
          },
        },
      ],
    })
    const ledger = createMemoryLedger()
    const events = createEventBus((error) => happened.push(String(error)))
    for (const name of ['verified', 'refused'] as const)
      events.on(name, ({ asset, project }) => happened.push(`${name} ${asset} ${project}`))
    const schemes = new Map([['voucher', new VoucherScheme()]])
    const requests = new OpenRequests()
    const context = {
      ...resolved,
      facilitator: createSchemeFacilitator({ schemes, events }),
      merchants: new Map(resolved.projects.map(({ id, merchant }) => [id, merchant!] as const)),
      directory: new ProjectDirectory({
        ...resolved,
        readMerchant: merchantReader(resolved.networks),
      }),
      ledger,
      idempotency: ledger.idempotency,
      quotes: new QuoteSigner(quoteSecret(resolved.quoteSecret, ledger)),
      settledAssets: [],
      declaredRoutes: new DeclaredRoutes(),
      catalogue: new Catalogue({ ...resolved, store: ledger.resources }),
      counters: new Counters({ ...resolved, store: ledger.counts }),
      revenue: new RevenueReader(ledger.payments),
      downloads: new Downloads(),
      requests,
      signIns: {
        ...resolved,
        ledger,
        secret: async () => '',
        checkSigner: async () => 'nobody' as const,
        questionsAMinute: 0,
      },
    }
    const app = express().use(createGatewayRouter(context))
    const protect = createX402Protect(openPaidRoutes(context))
    const sell: RequestHandler = (req, res) => void res.json({ paidBy: req.x402?.payer })
    app.get('/fixed', protect('$0.01'), sell)
    app.get(
      '/quoted',
      protect(() => quotedPrice, { quoteFor: () => '' }),
      sell,
    )
    app.get('/upfront', protect('$0.01', { paymentFlow: 'upfront' }), sell)
    return listen(app)
  })

  const requirements = {
    ...{ scheme: 'voucher', network, asset: usdc.address, payTo: MERCHANT.address },
    ...{ amount: '10000', maxTimeoutSeconds: 60 },
  }
  const send = async (path: string, payload?: object, scheme = 'voucher'): Promise<unknown> => {
    const accepted = { ...requirements, scheme }
    const paymentPayload = { x402Version: 2, accepted, payload }
    const response = await fetch(`${server.url}/api/v2/payment/${path}`, {
      headers: { 'x-project-identify-token': SHOP_TOKEN, 'content-type': 'application/json' },
      ...(payload && {
        method: 'POST',
        body: JSON.stringify({ paymentPayload, paymentRequirements: accepted }),
      }),
    })
    return response.json()
  }

  it('verifies its own payments, and is announced as any other', async () => {
    happened.length = 0
    expect(await send('verify', { voucher: 'one' })).toEqual({ isValid: true, payer })
    expect(await send('verify', {})).toEqual({
      isValid: false,
      invalidReason: 'invalid_payload',
      invalidMessage: expect.any(String),
      error: expect.any(String),
    })
    expect(happened).toEqual([`verified ${usdc.address} shop`, `refused ${usdc.address} shop`])
  })

  it('settles a payment once', async () => {
    expect(await send('settle', { voucher: 'two' })).toEqual({
      ...{ success: true, transaction, network, payer },
    })
    expect(await send('settle', { voucher: 'two' })).toMatchObject({
      success: false,
      errorReason: 'duplicate_settlement',
      errorMessage: expect.any(String),
    })
  })

  it('is listed as supported, with its signers', async () => {
    expect(await send('supported')).toMatchObject({
      kinds: [{ x402Version: 2, scheme: 'voucher', network }],
      signers: { 'eip155:*': [MERCHANT.address] },
    })
  })

  it.each(['/fixed', '/quoted', '/upfront'])('sells %s once for a voucher', async (path) => {
    const [accepted, ...others] = paymentRequiredOf(await fetch(server.url + path)).accepts
    expect(others).toEqual([])
    expect(accepted).toMatchObject({ scheme: 'voucher', extra: { vouchers: 'accepted' } })
    const pay = (payload: object, changed = {}) => {
      const payment = { x402Version: 2, accepted: { ...accepted, ...changed }, payload }
      return fetch(server.url + path, { headers: paymentHeader(payment) })
    }

    const sold = await pay({ voucher: path })
    expect(sold.status).toBe(200)
    expect(await sold.json()).toEqual({ paidBy: payer })
    expect(settlementOf(sold)).toEqual({ success: true, transaction, network, payer })

    const again = await pay({ voucher: path })
    expect(again.status).toBe(402)
    expect(paymentRequiredOf(again).error).toBe('duplicate_settlement')
    expect((await pay({})).status).toBe(400)
    const unknown = await pay({ voucher: 'new' }, { scheme: 'exact' })
    expect(paymentRequiredOf(unknown).error).toBe('unsupported_scheme')
  })

  it.each(['/fixed', '/quoted'])(
    'adds to the next 402 of %s what the next payment needs, and takes a payment for it',
    async (path) => {
      const asked = async () => paymentRequiredOf(await fetch(server.url + path)).accepts[0]!
      const pay = (accepted: object, voucher: string) => {
        const payment = { x402Version: 2, accepted, payload: { voucher } }
        return fetch(server.url + path, { headers: paymentHeader(payment) })
      }
      quotedPrice = '$0.01'
      const first = await asked()
      const voucher = `first of ${path}`
      expect((await pay(first, voucher)).status).toBe(200)

      // A payment's entry is still its own at another price.
      quotedPrice = '$0.02'
      const [next] = paymentRequiredOf(await pay(first, voucher)).accepts
      expect(next).toMatchObject({ extra: { vouchers: 'accepted', spent: voucher } })
      // The quote is among what stays.
      expect(Object.keys(next!.extra!).toSorted()).toEqual(
        [...Object.keys(first.extra!), 'spent'].toSorted(),
      )
      expect((await pay(next!, `next of ${path}`)).status).toBe(200)
      // It is told to that buyer alone.
      expect((await asked()).extra).not.toHaveProperty('spent')
    },
  )

  it('has quotes of its own, and refuses a quote for exact', async () => {
    const signer = new QuoteSigner(async () => 'secret')
    const subject = { request: ['GET', '/quoted'], entry: requirements }
    const quote = await signer.sign(subject, { expiresAt: 1 })
    expect(await signer.read(quote, subject)).toMatchObject({ expiresAt: 1 })
    const exact = { ...subject, entry: { ...requirements, scheme: 'exact' } }
    expect(await signer.read(quote, exact)).toBeUndefined()
  })

  it('still refuses schemes that nobody settles', async () => {
    expect(await send('verify', { voucher: 'three' }, 'upto')).toEqual({
      isValid: false,
      invalidReason: 'unsupported_scheme',
      invalidMessage: expect.any(String),
      error: expect.any(String),
    })
  })
})
