/** A second scheme, beside `exact`, is a class and an entry of a map: no face has to know it. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import express from 'express'
import { resolveOptions } from '../../src/config/resolve.js'
import { MERCHANT, PAYERS } from '../../src/devnet/accounts.js'
import { httpFacilitator } from '../../src/facilitator/http-facilitator.js'
import { createLocalFacilitator } from '../../src/facilitator/local-facilitator.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { quoteSecret } from '../../src/merchants/quote-secret.js'
import { createQuoteSigner } from '../../src/merchants/signed-quote.js'
import { createGatewayRouter } from '../../src/router/gateway-router.js'
import { createEventBus } from '../../src/schemes/events.js'
import type {
  PresentedPayment,
  Refusal,
  Reservation,
  Scheme,
  Verified,
} from '../../src/schemes/scheme.js'
import { usdc } from '../support/core.js'
import { SHOP_TOKEN } from '../support/devnet.js'
import { listen } from '../support/http.js'

const payer = PAYERS[0]!.address
const network = 'eip155:84532'
const transaction = `0x${'cd'.repeat(32)}`

/** Pays with vouchers that are good once: no chain, no signature. */
class VoucherScheme implements Scheme {
  readonly #spent = new Set<string>()

  async verify({ payment }: PresentedPayment): Promise<Verified | Refusal> {
    const { voucher } = payment.payload.payload
    if (typeof voucher !== 'string') return { refused: 'invalid_payload' }
    if (this.#spent.has(voucher)) return { refused: 'duplicate_settlement', payer }
    return { payer, reserve: async () => this.#reserve(voucher) }
  }

  supported() {
    return { networks: [network], signers: { 'eip155:*': [MERCHANT.address] } }
  }

  #reserve(voucher: string): Reservation {
    this.#spent.add(voucher)
    const release = async (): Promise<void> => void this.#spent.delete(voucher)
    const settle = async () => ({ success: true, transaction, network, payer }) as const
    return { payer, settle, release, markDelivered: async () => undefined, reopen: release }
  }
}

describe('a scheme beside exact', () => {
  const happened: string[] = []
  let server: Awaited<ReturnType<typeof listen>>
  beforeAll(async () => {
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
    const context = {
      ...resolved,
      facilitator: createLocalFacilitator({ schemes, events }),
      merchants: new Map(resolved.projects.map(({ id, merchant }) => [id, merchant!] as const)),
      ledger,
      idempotency: ledger.idempotency,
      quotes: createQuoteSigner(quoteSecret(resolved.quoteSecret, ledger)),
    }
    server = await listen(express().use(createGatewayRouter(context)))
  })
  afterAll(() => server.close())

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

  it('is verified by itself, and announced as any other', async () => {
    happened.length = 0
    expect(await send('verify', { voucher: 'one' })).toEqual({ isValid: true, payer })
    expect(await send('verify', {})).toEqual({ isValid: false, invalidReason: 'invalid_payload' })
    expect(happened).toEqual([`verified ${usdc.address} shop`, `refused ${usdc.address} shop`])
  })

  it('is settled once', async () => {
    expect(await send('settle', { voucher: 'two' })).toEqual({
      ...{ success: true, transaction, network, payer },
    })
    expect(await send('settle', { voucher: 'two' })).toMatchObject({
      success: false,
      errorReason: 'duplicate_settlement',
    })
  })

  it('is listed as supported, with its signers', async () => {
    expect(await send('supported')).toMatchObject({
      kinds: [{ x402Version: 2, scheme: 'voucher', network }],
      signers: { 'eip155:*': [MERCHANT.address] },
    })
  })

  it('leaves schemes that nobody settles refused', async () => {
    expect(await send('verify', { voucher: 'three' }, 'upto')).toEqual({
      isValid: false,
      invalidReason: 'unsupported_scheme',
    })
  })
})
