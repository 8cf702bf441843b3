import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generatePaymentId } from '@x402/extensions'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { LedgerError } from '../../../src/shared/errors.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import type { PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { signPayment, type SigningOverrides } from '../../support/sign-payment.js'
import { problemOf, serveGateway, type GatewayApi } from '../api.js'
import { bound, patchedLedger } from '../../support/patched-ledger.js'
import { until } from '../../support/until.js'
import { stopMining, resumeMining } from '../../support/mining.js'

const VERIFY = '/api/v2/payment/verify'
const SETTLE = '/api/v2/payment/settle'
const OTHER = { 'X-Project-Identify-Token': 'x402_token-of-another-shop' }

const devnet = useDevnet()
let api: GatewayApi
const earned = () => balanceOf(devnet, devnet.merchant.address)

/** Two projects that pay the same account: what sets them apart is their tokens alone. */
const options = (more: GatewayOptions = {}): GatewayOptions => ({
  ...shopOptions(devnet),
  projects: [
    ...(shopOptions(devnet).projects ?? []),
    {
      id: 'other',
      tokens: ['x402_token-of-another-shop'],
      merchant: { payTo: devnet.merchant.address },
    },
  ],
  ...more,
})
beforeAll(async () => {
  api = await serveGateway(options())
})
afterAll(() => api.close())

let keys = 0
const newKey = (): Record<string, string> => ({ 'Idempotency-Key': `key-${++keys}` })

async function submission(overrides: SigningOverrides = {}, payer = 0) {
  const { body } = await api.post('/api/v2/payment/requirements', {
    resourceUrl: 'https://shop.example/item',
    requestedAmount: 0.01,
  })
  const paymentRequirements = body.accepts[0] as PaymentRequirements
  const paymentPayload = await signPayment(devnet.payers[payer]!, paymentRequirements, overrides)
  return { paymentPayload, paymentRequirements }
}

/** Settles as clients do: eight copies wait for the first one, and any more are told to come again. */
async function settleUntilDone(body: object, headers?: Record<string, string>) {
  for (;;) {
    const answer = await api.post(SETTLE, body, headers)
    if (answer.body.code !== 'idempotency_in_progress') return answer
  }
}

/** Settles until the answer has another reason than that it is pending. */
async function settleBeyondPending(gateway: GatewayApi, body: object, headers = {}) {
  for (;;) {
    const answer = await gateway.post(SETTLE, body, headers)
    if (answer.body.errorReason !== 'settlement_pending') return answer
  }
}

/** A submission whose payer gave his payment an id. */
async function withId(id: unknown, overrides?: SigningOverrides) {
  const body = await submission(overrides)
  const extensions = { 'payment-identifier': { info: { required: false, id } } }
  return { ...body, paymentPayload: { ...body.paymentPayload, extensions } }
}

describe('a settlement with an Idempotency-Key', () => {
  it('is answered again byte for byte, success included', async () => {
    const [before, body, key] = [await earned(), await submission(), newKey()]
    const first = await api.post(SETTLE, body, key)
    expect(first.body).toMatchObject({ success: true })
    const again = await api.post(SETTLE, body, key)
    expect([again.status, again.text]).toEqual([200, first.text])
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect(await earned()).toBe(before + 10_000n)
  })

  it.each<[string, Record<string, string> | undefined]>([
    ['without its key', undefined],
    ['with another key', { 'Idempotency-Key': 'never-used-before' }],
    ['where another project has the key', { ...OTHER, 'Idempotency-Key': 'shared' }],
  ])('is refused as used %s', async (_name, headers) => {
    const body = await submission()
    const first = await api.post(SETTLE, body, { 'Idempotency-Key': 'shared' })
    expect(first.status).toBe(200)
    const replay = await api.post(SETTLE, body, headers)
    expect(replay.body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
    })
    // The next case begins anew.
    await api.close()
    api = await serveGateway(options())
  })

  it('is recognised if its payment is written differently', async () => {
    const [body, key] = [await submission(), newKey()]
    const first = await api.post(SETTLE, body, key)
    const { paymentPayload, paymentRequirements } = body
    const rewritten = JSON.stringify(
      {
        x402Version: 2,
        paymentRequirements: {
          ...paymentRequirements,
          network: 'base-sepolia',
          asset: paymentRequirements.asset.toLowerCase(),
        },
        paymentPayload: { ...paymentPayload, extensions: null },
      },
      null,
      4,
    )
    expect((await api.post(SETTLE, rewritten, key)).text).toBe(first.text)
  })

  it('is answered 409 with another body, for which nothing is sent', async () => {
    const [one, other, key] = [await submission(), await submission(), newKey()]
    expect((await api.post(SETTLE, one, key)).status).toBe(200)
    const before = await earned()
    const conflict = await api.post(SETTLE, other, key)
    expect(conflict.status).toBe(409)
    expect(conflict.body).toEqual(problemOf(409, 'idempotency_conflict', 'Conflict'))
    expect(await earned()).toBe(before)
    expect((await api.post(SETTLE, other, newKey())).body).toMatchObject({ success: true })
  })

  it('is sent once if it comes twenty times at once, and all get the same answer', async () => {
    const [before, body, key] = [await earned(), await submission(), newKey()]
    const answers = await Promise.all(Array.from({ length: 20 }, () => settleUntilDone(body, key)))
    expect(answers[0]!.body).toMatchObject({ success: true })
    for (const { status, text } of answers) expect([status, text]).toEqual([200, answers[0]!.text])
    expect(await earned()).toBe(before + 10_000n)
  })

  it('is refused again in the same words', async () => {
    const [body, key] = [await submission({ value: '9999' }), newKey()]
    const first = await api.post(SETTLE, body, key)
    expect(first.body).toMatchObject({ success: false, transaction: '' })
    expect((await api.post(SETTLE, body, key)).text).toBe(first.text)
  })

  it('is tried again once the money is there that was missing', async () => {
    const privateKey = generatePrivateKey()
    const { address } = privateKeyToAccount(privateKey)
    const { paymentRequirements } = await submission()
    const paymentPayload = await signPayment({ privateKey, address }, paymentRequirements)
    const [body, key] = [{ paymentRequirements, paymentPayload }, newKey()]
    const refused = await api.post(SETTLE, body, key)
    expect(refused.body).toMatchObject({ errorReason: 'insufficient_funds' })
    expect((await api.post(SETTLE, body, key)).text).toBe(refused.text)
    await devnet.mint(address, 10_000n)
    expect((await api.post(SETTLE, body, key)).body).toMatchObject({ success: true })
  })

  it.each([
    ['empty', ''],
    ['of 256 characters', 'x'.repeat(256)],
    ['with a space', 'two words'],
    ['beyond ASCII', 'schlüssel'],
  ])('is answered 400 if the key is %s', async (_name, key) => {
    const [before, body] = [await earned(), await submission()]
    const answer = await api.post(SETTLE, body, { 'Idempotency-Key': key })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({
      code: 'invalid_request',
      errors: [{ path: 'Idempotency-Key', message: expect.stringContaining('1 to 255') }],
    })
    expect(await earned()).toBe(before)
  })

  it.each(['!', '~'.repeat(255)])(
    'is settled with a key of the shortest and longest length',
    async (key) => {
      const answer = await api.post(SETTLE, await submission(), { 'Idempotency-Key': key })
      expect(answer.body).toMatchObject({ success: true })
    },
  )
})

describe('a verification with an Idempotency-Key', () => {
  it('never repeats that the payment is valid, because it may be settled since', async () => {
    const [body, key] = [await submission(), newKey()]
    expect((await api.post(VERIFY, body, key)).body).toMatchObject({ isValid: true })
    expect((await api.post(SETTLE, body, key)).body).toMatchObject({ success: true })
    expect((await api.post(VERIFY, body, key)).body).toMatchObject({ isValid: false })
  })

  it('is answered 409 with another body', async () => {
    const key = newKey()
    expect((await api.post(VERIFY, await submission(), key)).status).toBe(200)
    expect((await api.post(VERIFY, await submission(), key)).status).toBe(409)
  })
})

describe('a settlement with an Idempotency-Key that was not tried or is not over', () => {
  const withGateway = async (
    more: GatewayOptions,
    work: (gateway: GatewayApi) => Promise<void>,
  ): Promise<void> => {
    const gateway = await serveGateway(options(more))
    try {
      await work(gateway)
    } finally {
      await gateway.close()
    }
  }

  it('is tried again if the chain could not be reached', async () => {
    const proxy = await startRpcProxy(devnet.rpcUrl)
    const { relayerKeys } = shopOptions(devnet).networks!['base-sepolia']!
    const networks = { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: relayerKeys! } }
    await withGateway({ networks }, async (gateway) => {
      const [body, key] = [await submission(), newKey()]
      proxy.fault = () => ({ kind: 'drop_request' })
      expect((await gateway.post(SETTLE, body, key)).status).toBe(502)
      expect((await gateway.post(VERIFY, body, key)).status).toBe(502)
      proxy.fault = undefined
      expect((await gateway.post(VERIFY, body, key)).body).toMatchObject({ isValid: true })
      const answer = await gateway.post(SETTLE, body, key)
      expect(answer.body).toMatchObject({ success: true })
      expect((await gateway.post(SETTLE, body, key)).text).toBe(answer.text)
    })
    await proxy.close()
  })

  it('is looked up again while it is pending, and then repeats the final answer', () =>
    withGateway({ settleTimeoutMs: 400 }, async (gateway) => {
      const [before, body, key] = [await earned(), await submission(), newKey()]
      await stopMining(devnet)
      const pending = await gateway.post(SETTLE, body, key)
      expect(pending.body).toMatchObject({ success: false, errorReason: 'settlement_pending' })
      expect((await gateway.post(SETTLE, await submission(), key)).status).toBe(409)
      await resumeMining(devnet)
      const { transaction } = pending.body
      const answer = await settleBeyondPending(gateway, body, key)
      expect(answer.body).toMatchObject({ success: true, transaction })
      expect((await gateway.post(SETTLE, body, key)).text).toBe(answer.text)
      expect(await earned()).toBe(before + 10_000n)
    }))

  it('is answered 503 if the first request takes longer than a settlement may', () => {
    const ledger = createMemoryLedger()
    let [isGranting, release] = [false, (): void => undefined]
    const released = new Promise<void>((resolve) => (release = resolve))
    const markDelivered: LedgerStore['payments']['markDelivered'] = async (...delivered) => {
      isGranting = true
      await released
      await ledger.payments.markDelivered(...delivered)
    }
    return withGateway(
      // Also the time that the first one is given to settle.
      { ledger: patchedLedger(ledger, { markDelivered }), settleTimeoutMs: 4000 },
      async (gateway) => {
        const [body, key] = [await submission(), newKey()]
        const first = gateway.post(SETTLE, body, key)
        await until(() => isGranting)
        const busy = await gateway.post(SETTLE, body, key)
        release()
        const done = await first
        expect(busy.status).toBe(503)
        expect(busy.body).toEqual(problemOf(503, 'idempotency_in_progress', 'Service Unavailable'))
        expect(busy.headers.get('retry-after')).toBe('5')
        expect(done.body).toMatchObject({ success: true })
        expect((await gateway.post(SETTLE, body, key)).text).toBe(done.text)
      },
    )
  })

  it('is answered even if its answer cannot be stored', () => {
    const ledger = createMemoryLedger()
    const fail = async (): Promise<never> => {
      throw new LedgerError('ledger_unavailable', 'away')
    }
    const begin: LedgerStore['idempotency']['begin'] = async (request) => {
      const begun = await ledger.idempotency.begin(request)
      if (begun.state !== 'fresh') return begun
      return { ...begun, claim: { ...begun.claim, keep: fail, finish: fail } }
    }
    return withGateway(
      { ledger: patchedLedger(ledger, { idempotency: { ...ledger.idempotency, begin } }) },
      async (gateway) => {
        const answer = await gateway.post(SETTLE, await submission(), newKey())
        expect(answer.body).toMatchObject({ success: true })
        expect(gateway.log.lines.join()).toContain('An answer could not be stored.')
      },
    )
  })

  it('is looked up again if its delivery could not be recorded', () => {
    const ledger = createMemoryLedger()
    let isAway = true
    const markDelivered: LedgerStore['payments']['markDelivered'] = async (...delivered) => {
      if (!isAway) return ledger.payments.markDelivered(...delivered)
      throw new LedgerError('ledger_unavailable', 'away')
    }
    const held: Parameters<LedgerStore['payments']['markDelivered']>[0][] = []
    const reserve: LedgerStore['payments']['reserve'] = async (entry) => {
      held.push(entry)
      return ledger.payments.reserve(entry)
    }
    return withGateway(
      { ledger: patchedLedger(ledger, { markDelivered, reserve }) },
      async (gateway) => {
        const [before, body, key] = [await earned(), await submission(), newKey()]
        expect((await gateway.post(SETTLE, body, key)).status).toBe(503)
        // Still held: refused, and not for good.
        expect((await gateway.post(SETTLE, body, key)).body).toMatchObject({ success: false })
        isAway = false
        await ledger.payments.unlock(held[0]!)
        const answer = await gateway.post(SETTLE, body, key)
        expect(answer.body).toMatchObject({ success: true })
        expect((await gateway.post(SETTLE, body, key)).text).toBe(answer.text)
        expect(await earned()).toBe(before + 10_000n)
      },
    )
  })

  it('is answered by what a process kept that died after its grant', () => {
    const ledger = createMemoryLedger()
    const begin: LedgerStore['idempotency']['begin'] = async (request) => {
      const begun = await ledger.idempotency.begin(request)
      if (begun.state !== 'fresh') return begun
      // It never comes to finish.
      const claim = bound(begun.claim)
      return { ...begun, claim: { ...claim, finish: claim.pause } }
    }
    return withGateway(
      { ledger: patchedLedger(ledger, { idempotency: { ...ledger.idempotency, begin } }) },
      async (gateway) => {
        const [before, body, key] = [await earned(), await submission(), newKey()]
        const first = await gateway.post(SETTLE, body, key)
        expect(first.body).toMatchObject({ success: true })
        expect((await gateway.post(SETTLE, body, key)).text).toBe(first.text)
        expect((await gateway.post(SETTLE, body)).body).toMatchObject({ success: false })
        expect(await earned()).toBe(before + 10_000n)
      },
    )
  })
})

describe('a settlement of a payment with an id', () => {
  it('is answered 409 if another payment has the id, and can be settled with another id', async () => {
    const id = generatePaymentId()
    expect((await api.post(SETTLE, await withId(id))).body).toMatchObject({ success: true })
    const [before, second] = [await earned(), await withId(id)]
    const conflict = await api.post(SETTLE, second)
    expect(conflict.status).toBe(409)
    expect(conflict.body).toMatchObject({
      code: 'idempotency_conflict',
      success: false,
      errorReason: 'payment_identifier_conflict',
      transaction: '',
    })
    expect(await earned()).toBe(before)
    const { extensions: _extensions, ...paymentPayload } = second.paymentPayload
    expect((await api.post(SETTLE, { ...second, paymentPayload })).body).toMatchObject({
      success: true,
    })
  })

  it('leaves the id free for other projects, and after a refusal for the next payment', async () => {
    const id = generatePaymentId()
    const refused = await api.post(SETTLE, await withId(id, { value: '9999' }))
    expect(refused.body).toMatchObject({ success: false })
    expect((await api.post(SETTLE, await withId(id))).body).toMatchObject({ success: true })
    expect((await api.post(SETTLE, await withId(id), OTHER)).body).toMatchObject({ success: true })
  })

  it('says success once, however often it comes', async () => {
    const [before, body] = [await earned(), await withId(generatePaymentId())]
    const copies = await Promise.all(Array.from({ length: 10 }, () => api.post(SETTLE, body)))
    expect(copies.filter((copy) => copy.body.success === true)).toHaveLength(1)
    expect((await api.post(SETTLE, body)).body).toMatchObject({ success: false })
    expect((await api.post(VERIFY, body)).body).toMatchObject({ isValid: false })
    expect(await earned()).toBe(before + 10_000n)
  })

  it('is still repeated for its Idempotency-Key', async () => {
    const [body, key] = [await withId(generatePaymentId()), newKey()]
    const first = await api.post(SETTLE, body, key)
    expect(first.body).toMatchObject({ success: true })
    expect((await api.post(SETTLE, body, key)).text).toBe(first.text)
  })

  it('is refused as used without its id, with another id, and for another project', async () => {
    const body = await withId(generatePaymentId())
    expect((await api.post(SETTLE, body)).body).toMatchObject({ success: true })
    const { extensions: _extensions, ...bare } = body.paymentPayload
    const info = { required: false, id: generatePaymentId() }
    const renamed = { ...bare, extensions: { 'payment-identifier': { info } } }
    const used = { success: false, errorReason: 'invalid_exact_evm_nonce_already_used' }
    expect((await api.post(SETTLE, { ...body, paymentPayload: bare })).body).toMatchObject(used)
    expect((await api.post(SETTLE, { ...body, paymentPayload: renamed })).body).toMatchObject(used)
    expect((await api.post(SETTLE, body, OTHER)).body).toMatchObject(used)
  })

  it('is refused if more is asked for the same payment than was paid', async () => {
    const body = await withId(generatePaymentId())
    expect((await api.post(SETTLE, body)).body).toMatchObject({ success: true })
    const paymentRequirements = { ...body.paymentRequirements, amount: '10000000' }
    const again = await api.post(SETTLE, { ...body, paymentRequirements })
    expect(again.body).toMatchObject({ success: false, transaction: '' })
  })

  it('does not block another payer’s payment with the same id', async () => {
    const id = 'an-id-that-two-payers-took'
    const extensions = { 'payment-identifier': { info: { required: false, id } } }
    for (const payer of [0, 1]) {
      const body = await submission({}, payer)
      const paymentPayload = { ...body.paymentPayload, extensions }
      expect((await settleUntilDone({ ...body, paymentPayload })).body.success).toBe(true)
    }
  })

  it('keeps its id while it is pending, so that another payment cannot take it by verify', async () => {
    const gateway = await serveGateway(options({ settleTimeoutMs: 400 }))
    const id = generatePaymentId()
    const body = await withId(id)
    await stopMining(devnet)
    const pending = await gateway.post(SETTLE, body)
    expect(pending.body).toMatchObject({ errorReason: 'settlement_pending' })
    await gateway.post(VERIFY, body)
    const other = await withId(id)
    expect((await gateway.post(VERIFY, other)).status).toBe(409)
    expect((await gateway.post(SETTLE, other)).status).toBe(409)
    await resumeMining(devnet)
    expect((await gateway.post(VERIFY, body)).body).toMatchObject({ isValid: true })
    expect((await settleBeyondPending(gateway, body)).body).toMatchObject({ success: true })
    await gateway.close()
  })

  it('is valid, while it is pending, only for the key that it was sent with', async () => {
    const gateway = await serveGateway(options({ settleTimeoutMs: 400 }))
    const [body, headers] = [await submission(), newKey()]
    await stopMining(devnet)
    const pending = await gateway.post(SETTLE, body, headers)
    expect(pending.body).toMatchObject({ errorReason: 'settlement_pending' })
    expect((await gateway.post(VERIFY, body, headers)).body).toMatchObject({ isValid: true })
    const other = await gateway.post(VERIFY, body, newKey())
    expect(other.body).toMatchObject({ isValid: false })
    await resumeMining(devnet)
    await gateway.close()
  })

  it('leaves its id free if it was only verified', async () => {
    const id = generatePaymentId()
    expect((await api.post(VERIFY, await withId(id))).body).toMatchObject({ isValid: true })
    expect((await api.post(SETTLE, await withId(id))).body).toMatchObject({ success: true })
  })

  it('is tried again after a refusal, because its payer may have money by then', async () => {
    const id = generatePaymentId()
    const privateKey = generatePrivateKey()
    const { address } = privateKeyToAccount(privateKey)
    const { paymentRequirements } = await submission()
    const extensions = { 'payment-identifier': { info: { required: false, id } } }
    const signed = await signPayment({ privateKey, address }, paymentRequirements)
    const body = { paymentRequirements, paymentPayload: { ...signed, extensions } }
    expect((await api.post(SETTLE, body)).body).toMatchObject({ errorReason: 'insufficient_funds' })
    await devnet.mint(address, 10_000n)
    expect((await api.post(SETTLE, body)).body).toMatchObject({ success: true })
    const other = await signPayment({ privateKey, address }, paymentRequirements)
    const again = { paymentRequirements, paymentPayload: { ...other, extensions } }
    await devnet.mint(address, 10_000n)
    expect((await api.post(SETTLE, again)).status).toBe(409)
  })

  it('is answered 400 if the id is malformed', async () => {
    const answer = await api.post(SETTLE, await withId('short'))
    expect(answer.status).toBe(400)
    expect(answer.body.errors[0].path).toBe('paymentPayload.extensions.payment-identifier.info.id')
  })

  it('sends nothing where the id cannot be written down', async () => {
    const ledger = createMemoryLedger()
    const begin = async (): Promise<never> => {
      throw new LedgerError('ledger_unavailable', 'away')
    }
    const gateway = await serveGateway(
      options({ ledger: patchedLedger(ledger, { idempotency: { ...ledger.idempotency, begin } }) }),
    )
    const [before, body] = [await earned(), await withId(generatePaymentId())]
    expect((await gateway.post(SETTLE, body)).status).toBe(503)
    expect(await earned()).toBe(before)
    const { extensions: _extensions, ...paymentPayload } = body.paymentPayload
    expect((await gateway.post(SETTLE, { ...body, paymentPayload })).body).toMatchObject({
      success: true,
    })
    await gateway.close()
  })
})

it('an amount of 0 is neither verified nor settled', async () => {
  const { paymentRequirements: offer } = await submission()
  const paymentRequirements = { ...offer, amount: '0' }
  const paymentPayload = await signPayment(devnet.payers[0]!, paymentRequirements)
  const body = { paymentPayload, paymentRequirements }
  expect((await api.post(VERIFY, body)).body).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_payment_requirements',
    invalidMessage: expect.stringContaining('amount is 0'),
  })
  expect((await api.post(SETTLE, body)).body).toMatchObject({
    success: false,
    errorReason: 'invalid_payment_requirements',
    transaction: '',
  })
})
