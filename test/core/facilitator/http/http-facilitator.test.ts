import { inspect } from 'node:util'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { ConfigError, FacilitatorError } from '../../../../src/shared/errors.js'
import { PAYERS, MERCHANT } from '../../../../src/tools/devnet/accounts.js'
import { httpFacilitator } from '../../../../src/core/facilitator/http/http-facilitator.js'
import type { FacilitatorRequest } from '../../../../src/core/facilitator/http/request-headers.js'
import type {
  PaymentPayload,
  PaymentRequirements,
} from '../../../../src/shared/protocol/payment.js'
import { usdc } from '../../../support/core.js'
import { listen } from '../../../support/http.js'
import { issuesOf } from '../../../support/issues.js'
import { useScriptedFacilitator, type Script } from '../../../support/scripted-facilitator.js'
import { signPayment } from '../../../support/sign-payment.js'

const elsewhere = useScriptedFacilitator()
const offer: PaymentRequirements = {
  scheme: 'exact',
  network: 'eip155:84532',
  amount: '10000',
  payTo: MERCHANT.address,
  maxTimeoutSeconds: 300,
  asset: usdc.address,
  extra: { name: 'USDC', version: '2' },
}
const TRANSACTION = `0x${'aa'.repeat(32)}`
const payer = PAYERS[0]!.address
let payment: PaymentPayload
beforeAll(async () => {
  payment = await signPayment(PAYERS[0]!, offer)
})

const open = (options: Partial<Parameters<typeof httpFacilitator>[0]> = {}) =>
  httpFacilitator({ url: elsewhere.url, ...options })
const verify = (script: Script, options = {}) => {
  elsewhere.scripts = { verify: script }
  return open(options).verify(payment, offer)
}
const settle = (script: Script, options = {}) => {
  elsewhere.scripts = { settle: script }
  return open(options).settle(payment, offer)
}

describe('a facilitator over HTTP', () => {
  it.each(['nonsense', 'ftp://facilitator.example', ''])('refuses the URL %p', (url) => {
    expect(() => httpFacilitator({ url })).toThrow(ConfigError)
  })

  it('is called by the x402 specification, with its token and headers', async () => {
    elsewhere.scripts = { verify: { body: { isValid: true, payer } } }
    const url = `${elsewhere.url}//`
    await open({ url, token: 'x402_token', headers: { 'x-else': '1' } }).verify(payment, offer)
    expect(elsewhere.requests).toEqual([
      {
        method: 'POST',
        path: '/x402/verify',
        headers: expect.objectContaining({
          'content-type': 'application/json',
          'x-project-identify-token': 'x402_token',
          'x-else': '1',
        }),
        body: { x402Version: 2, paymentPayload: payment, paymentRequirements: offer },
      },
    ])
  })

  it('is called with headers from a function for each request', async () => {
    const made: string[] = []
    const headers = async ({ method, url }: FacilitatorRequest) => {
      await new Promise(setImmediate)
      made.push(`${method} ${url.slice(elsewhere.url.length)}`)
      return { authorization: `Bearer token-${made.length}` }
    }
    elsewhere.scripts = {
      verify: { body: { isValid: true, payer } },
      supported: { body: { kinds: [] } },
    }
    const facilitator = open({ headers })
    await facilitator.verify(payment, offer)
    await facilitator.verify(payment, offer)
    await facilitator.supported()
    expect(made).toEqual(['POST /verify', 'POST /verify', 'GET /supported'])
    expect(elsewhere.requests.map(({ headers: sent }) => sent['authorization'])).toEqual(
      ['1', '2', '3'].map((n) => `Bearer token-${n}`),
    )
  })

  it.each<[string, () => never]>([
    [
      'throws',
      () => {
        throw new Error('no key secret-key at https://keys.example/secret-key')
      },
    ],
    ['rejects', () => Promise.reject(new TypeError('secret-key')) as never],
    ['never answers', () => new Promise(() => undefined) as never],
    ['returns no object', () => 'secret-key' as never],
    ['returns what is no header', () => ({ authorization: 'secret-key\r\nx: y' }) as never],
    ['returns a Headers', () => new Headers({ authorization: 'secret-key' }) as never],
    ['returns a number', () => ({ authorization: 12 }) as never],
  ])('is not called, and no secret is revealed, if that function %s', async (_what, headers) => {
    const refused = await verify({ body: { isValid: true } }, { headers, timeoutMs: 50 }).catch(
      (error: unknown) => error,
    )
    expect(refused).toBeInstanceOf(FacilitatorError)
    expect(refused).toMatchObject({ code: 'facilitator_unreachable' })
    expect(inspect(refused)).toContain('nothing was sent')
    expect(inspect(refused, { depth: 9 }).replace(/^ +at .*$/gm, '')).not.toContain('secret-key')
    expect(elsewhere.requests).toEqual([])
  })

  it.each([
    { authorization: 12 },
    { authorization: 'secret\nx' },
    ['a'],
    new Map([['authorization', 'secret']]),
    'secret',
    null,
  ])('refuses malformed headers without repeating them: %j', (headers) => {
    const issues = issuesOf(() => open({ headers: headers as never }))
    expect(issues).toMatchObject([{ option: 'facilitator.headers', code: 'invalid_type' }])
    expect(JSON.stringify(issues)).not.toContain('secret')
  })

  it.each<[string, number, string]>([
    ['is unauthorized', 401, 'check its token'],
    ['is not found', 404, 'check its URL'],
    ['is redirected', 308, 'name the URL that it redirects to'],
  ])('says what to do where a request %s', async (_what, status, remedy) => {
    await expect(verify({ status, body: {} })).rejects.toThrow(remedy)
  })

  it('names the failure of a facilitator that cannot be reached', async () => {
    const { url, close } = await listen((_req, res) => void res.end())
    await close()
    const away = open({ url })
    await expect(away.verify(payment, offer)).rejects.toThrow(
      'did not answer verify: ECONNREFUSED.',
    )
  })

  it('is called without a token if none is configured', async () => {
    await verify({ body: { isValid: true, payer } })
    expect(elsewhere.requests[0]?.headers).not.toHaveProperty('x-project-identify-token')
  })

  it('is called to settle with one Idempotency-Key for each payment', async () => {
    elsewhere.scripts = { verify: { body: { isValid: true } }, settle: 'break' }
    const [one, another] = [open(), open()]
    const second = await signPayment(PAYERS[0]!, offer)
    const asked = [
      one.settle(payment, offer),
      one.settle(payment, { ...offer }),
      one.settle(second, offer),
      another.settle(payment, offer),
    ]
    await Promise.allSettled(asked)
    const keys = elsewhere.requests.map(({ headers }) => headers['idempotency-key'])
    for (const key of keys) expect(key).toMatch(/^[0-9a-f]{64}$/)
    // Another process may have honoured it by itself: it is not given the same answer.
    expect(new Set(keys).size).toBe(3)
    await one.verify(payment, offer)
    expect(elsewhere.requests.at(-1)?.headers).not.toHaveProperty('idempotency-key')
  })

  it('passes on the answer of verify', async () => {
    expect(await verify({ body: { isValid: true, payer } })).toEqual({ isValid: true, payer })
    const refusal = { isValid: false, invalidReason: 'some_reason_of_theirs', payer }
    expect(await verify({ body: refusal })).toEqual(refusal)
  })

  it('passes on the answer of settle', async () => {
    const network = 'eip155:84532'
    const paid = { success: true, transaction: TRANSACTION, network, payer }
    expect(await settle({ body: paid })).toEqual(paid)
    const refusal = { success: false, errorReason: 'x', transaction: '', network, payer }
    expect(await settle({ body: refusal })).toEqual(refusal)
  })

  it('fills in members that others omit or write as null', async () => {
    expect(await verify({ body: { isValid: true } })).toEqual({ isValid: true, payer })
    expect(await verify({ body: { isValid: true, payer: null } })).toMatchObject({ payer })
    const { network } = offer
    expect(await settle({ body: { success: true, transaction: TRANSACTION } })).toEqual({
      success: true,
      transaction: TRANSACTION,
      network,
      payer,
    })
    expect(
      await settle({
        body: { success: false, errorReason: 'x', transaction: null, network: null },
      }),
    ).toEqual({ success: false, errorReason: 'x', transaction: '', network, payer })
  })

  it('reads the payer of a permit, and refuses answers about another one', async () => {
    const permit = { ...payment, payload: { permit2Authorization: { from: payer } } }
    elsewhere.scripts = {
      verify: [{ body: { isValid: true } }, { body: { isValid: true, payer } }],
    }
    for (let times = 0; times < 2; times++)
      expect(await open().verify(permit, offer)).toEqual({ isValid: true, payer })
    elsewhere.scripts = { verify: { body: { isValid: true, payer: PAYERS[1]!.address } } }
    await expect(open().verify(permit, offer)).rejects.toMatchObject({
      code: 'facilitator_refused',
    })
  })

  it('passes on what was taken of a maximum, and of nothing else', async () => {
    const paid = { success: true, transaction: TRANSACTION, network: offer.network, payer }
    elsewhere.scripts = { settle: { body: { ...paid, amount: '7' } } }
    expect(await open().settle(payment, { ...offer, scheme: 'upto' })).toEqual({
      ...paid,
      amount: '7',
    })
    expect(await open().settle(payment, offer)).toEqual(paid)
  })

  it('names no payer of a payment that it cannot read', async () => {
    elsewhere.scripts = { verify: { body: { isValid: false, invalidReason: 'x' } } }
    expect(await open().verify({ ...payment, payload: {} }, offer)).toMatchObject({ payer: '' })
  })

  it.each([200, 400, 402, 403])('accepts a refusal with HTTP %d', async (status) => {
    const body = { isValid: false, invalidReason: 'insufficient_funds', invalidMessage: 'too poor' }
    expect(await verify({ status, body })).toMatchObject(body)
    const failure = { success: false, errorReason: 'insufficient_funds', errorMessage: 'too poor' }
    expect(await settle({ status, body: failure })).toMatchObject(failure)
  })

  it.each([500, 502, 503, 504])(
    'does not treat HTTP %d as a refusal, because the transaction may be mined',
    async (status) => {
      const refused = { isValid: false, invalidReason: 'unexpected_error' }
      const unknown = { code: 'facilitator_refused', isUnsent: false }
      await expect(verify({ status, body: refused })).rejects.toMatchObject(unknown)
      for (const errorReason of [
        'internal_error',
        'invalid_payload',
        'invalid_transaction_state',
      ]) {
        const body = { success: false, errorReason, transaction: TRANSACTION }
        await expect(settle({ status, body })).rejects.toMatchObject(unknown)
      }
      const paid = { success: true, transaction: TRANSACTION }
      await expect(settle({ status, body: paid })).rejects.toMatchObject(unknown)
    },
  )

  it('believes a gateway of this package that a transaction was mined and failed', async () => {
    const failure = { success: false, errorReason: 'invalid_transaction_state' }
    const problem = { type: 'about:blank', status: 502, code: 'transaction_failed', ...failure }
    const mined = { ...problem, transaction: TRANSACTION }
    expect(await settle({ status: 502, body: mined })).toMatchObject(failure)
    const unsent = settle({ status: 502, body: { ...problem, transaction: '' } })
    await expect(unsent).rejects.toMatchObject({ isUnsent: false })
    const other = settle({ status: 502, body: { ...mined, errorReason: 'internal_error' } })
    await expect(other).rejects.toMatchObject({ isUnsent: false })
  })

  it.each([
    [401, 'facilitator_refused'],
    [413, 'facilitator_refused'],
    [429, 'facilitator_busy'],
  ])(
    'knows that nothing was sent after HTTP %d, unless it says otherwise',
    async (status, code) => {
      for (const body of [{}, '<html>', { success: false, errorReason: 'internal_error' }])
        await expect(settle({ status, body })).rejects.toMatchObject({ code, isUnsent: true })
      const paid = { success: true, transaction: TRANSACTION }
      await expect(settle({ status, body: paid })).rejects.toMatchObject({ code, isUnsent: false })
    },
  )

  it('passes on Retry-After', async () => {
    const busy = (after: string) =>
      settle({ status: 429, body: {}, headers: { 'retry-after': after } })
    await expect(busy('17')).rejects.toMatchObject({ retryAfterSeconds: 17 })
    await expect(busy('99999999')).rejects.toMatchObject({ retryAfterSeconds: 3600 })
    await expect(busy('soon')).rejects.toMatchObject({ retryAfterSeconds: undefined })
  })

  it('quotes the other side in one short line without our secrets', async () => {
    const token = 'x402_secret_token'
    const body = { error: `no\u0000\u202e\nproject\twith ${token} ${'x'.repeat(100_000)}` }
    const refused = await settle({ status: 400, body }, { token }).catch((error: unknown) => error)
    const { cause } = refused as { cause: string }
    expect(cause).toContain('no')
    expect(cause).toContain('with …')
    expect(cause).not.toMatch(/\p{C}/u)
    expect(cause.length).toBeLessThanOrEqual(301)
    const location = 'https://user:pass@www.facilitator.example/x402/settle?key=secret'
    const moved = settle({ status: 308, body: '', headers: { location } })
    await expect(moved).rejects.toMatchObject({
      cause: 'redirects to www.facilitator.example/x402/settle',
    })
    const words = { success: false, errorReason: 'x', errorMessage: 'line\r\nline' }
    expect(await settle({ body: words })).toMatchObject({ errorMessage: 'line line' })
  })

  it('names no transaction where there was nothing to take', async () => {
    elsewhere.scripts = { settle: { body: { success: true, transaction: '' } } }
    expect(await open().settle(payment, { ...offer, amount: '0' })).toMatchObject({
      ...{ success: true, transaction: '' },
    })
  })

  it.each<[string, Script]>([
    ['no JSON', { body: '<html>' }],
    ['nothing', { body: '' }],
    ['an array', { body: [] }],
    ['something else', { body: { ok: true } }],
    ['no reason', { body: { success: false, isValid: false } }],
    ['success without a transaction', { body: { success: true, transaction: '' } }],
    ['HTTP 500', { status: 500, body: { error: 'oops' } }],
    ['HTTP 401', { status: 401, body: {} }],
    ['HTTP 403', { status: 403, body: {} }],
    ['a redirect', { status: 307, body: '', headers: { location: 'http://127.0.0.1:9/' } }],
  ])('is refused when it answers %s', async (_name, script) => {
    for (const ask of [verify, settle])
      await expect(ask(script)).rejects.toMatchObject({
        name: 'FacilitatorError',
        code: 'facilitator_refused',
      })
  })

  it('hints at the token if that is refused', async () => {
    await expect(verify({ status: 401, body: {} })).rejects.toThrow('token')
    await expect(verify({ status: 500, body: {} })).rejects.not.toThrow('token')
  })

  it.each<Script>(['break', 'hang', 'hang_midway'])(
    'is unreachable on this fault: %s',
    async (script) => {
      const asked = settle(script, { timeoutMs: 100, token: 'x402_secret' })
      await expect(asked).rejects.toBeInstanceOf(FacilitatorError)
      await expect(asked).rejects.toMatchObject({
        code: 'facilitator_unreachable',
        isUnsent: false,
      })
      await expect(asked).rejects.not.toThrow('x402_secret')
    },
  )

  it('was sent nothing where nobody listens', async () => {
    const gone = await listen(() => undefined)
    await gone.close()
    const asked = open({ url: gone.url }).settle(payment, offer)
    await expect(asked).rejects.toMatchObject({ code: 'facilitator_unreachable', isUnsent: true })
  })

  it('lists what it supports', async () => {
    const kinds = [{ x402Version: 2, scheme: 'exact', network: 'eip155:84532' }]
    elsewhere.scripts = { supported: { body: { kinds } } }
    expect(await open().supported()).toEqual({ kinds, extensions: [], signers: {} })
    expect(elsewhere.requests[0]).toMatchObject({ method: 'GET', path: '/x402/supported' })
  })
})
