import { beforeEach, describe, expect, it } from '@jest/globals'
import { LedgerError } from '../../../src/shared/errors.js'
import { MERCHANT, PAYERS } from '../../../src/tools/devnet/accounts.js'
import type {
  Facilitator,
  ReservingFacilitator,
} from '../../../src/core/facilitator/facilitator.js'
import { httpFacilitator } from '../../../src/core/facilitator/http/http-facilitator.js'
import { createRemoteFacilitator } from '../../../src/core/facilitator/remote-facilitator.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { decodePayment } from '../../../src/shared/protocol/decoded-payment.js'
import type { PaymentPayload, PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { createEventBus } from '../../../src/core/schemes/events.js'
import { exactFormat } from '../../support/exact-format.js'
import { usdc } from '../../support/core.js'
import { decoded, FORMATS } from '../../support/decoded.js'
import { useScriptedFacilitator, type Script } from '../../support/scripted-facilitator.js'
import { signPayment } from '../../support/sign-payment.js'
import { patchedLedger, type LedgerMethods } from '../../support/patched-ledger.js'
import { until } from '../../support/until.js'

const elsewhere = useScriptedFacilitator()
const network = 'eip155:84532'
const offer: PaymentRequirements = {
  scheme: 'exact',
  network,
  amount: '10000',
  payTo: MERCHANT.address,
  maxTimeoutSeconds: 300,
  asset: usdc.address,
  extra: { name: 'USDC', version: '2' },
}
const terms = { payTo: MERCHANT.address, accepts: [usdc] }
const payer = PAYERS[0]!.address
const TRANSACTION = `0x${'aa'.repeat(32)}`

const VALID: Script = { body: { isValid: true, payer } }
const USED: Script = {
  body: { isValid: false, invalidReason: 'invalid_exact_evm_nonce_already_used', payer },
}
const PAID: Script = { body: { success: true, transaction: TRANSACTION, network, payer } }
const refusal = (errorReason: string, transaction = ''): Script => ({
  body: { success: false, errorReason, transaction, network, payer },
})
const used = (settledBy: string): Script => ({
  body: {
    ...{ success: false, errorReason: 'invalid_exact_evm_nonce_already_used', transaction: '' },
    ...{ settledBy, network, payer },
  },
})

const USED_UP = 'invalid_exact_evm_nonce_already_used'

let payment: PaymentPayload
let ledger: LedgerStore
let errors: string[]
let facilitator: ReservingFacilitator
beforeEach(async () => {
  payment = await signPayment(PAYERS[0]!, offer)
  use(createMemoryLedger())
})

const formats = new Map([['exact', exactFormat]])
const events = createEventBus(() => undefined)
const none = (): void => undefined
const silent = { debug: none, info: none, warn: none, error: none }

/** @param timeoutMs - Long, so that no busy machine takes the answer for lost. */
function use(store: LedgerStore, timeoutMs = 60_000): void {
  ledger = store
  errors = []
  const logger = { ...silent, error: (m: string) => void errors.push(m) }
  const remote = httpFacilitator({ url: elsewhere.url, timeoutMs })
  facilitator = createRemoteFacilitator({ facilitator: remote, formats, ledger, events, logger })
}

const settle = (one: PaymentPayload = payment) => facilitator.settle(one, offer, terms)
const failed = (errorReason: string) => expect.objectContaining({ success: false, errorReason })
const asked = (): string[] => elsewhere.requests.map(({ path }) => path.split('/').at(-1)!)

interface AskedBody {
  readonly paymentPayload: PaymentPayload
}

async function reserve(one: PaymentPayload = payment) {
  const reserved = await facilitator.reserve(decoded(one, offer), terms)
  if ('refused' in reserved) throw new Error(reserved.refused)
  return reserved
}

describe('a remote facilitator with a local ledger', () => {
  it('verifies there, after a local check of what this merchant accepts', async () => {
    elsewhere.scripts = { verify: VALID }
    expect(await facilitator.verify(payment, offer, terms)).toEqual({ isValid: true, payer })
    const stranger = { ...terms, payTo: payer }
    expect(await facilitator.verify(payment, offer, stranger)).toMatchObject({
      isValid: false,
      invalidReason: 'pay_to_mismatch',
      invalidMessage: expect.any(String),
    })
    expect(asked()).toEqual(['verify'])
  })

  it('lists what is supported there', async () => {
    elsewhere.scripts = { supported: { body: { kinds: [] } } }
    expect(await facilitator.supported()).toMatchObject({ kinds: [] })
  })

  it.each<[string, Partial<PaymentRequirements>, Record<string, unknown> | undefined, string]>([
    ['another scheme', { scheme: 'upto' }, undefined, 'unsupported_scheme'],
    ['no EVM network', { network: 'solana:x' }, undefined, 'invalid_network'],
    ['no authorization', {}, {}, 'invalid_payload'],
  ])('refuses %s without a call', async (_name, members, payload, refused) => {
    const changed = { ...offer, ...members }
    const presented = { ...payment, accepted: changed, ...(payload && { payload }) }
    expect(await facilitator.reserve(decodePayment(presented, changed, FORMATS))).toMatchObject({
      refused,
    })
    expect(asked()).toEqual([])
  })

  it('keeps the rate that the amount comes from with the payment', async () => {
    elsewhere.scripts = { verify: VALID, settle: PAID }
    const appliedRate = { price: '0.01', currency: 'EUR', rate: '1', asOf: 1, source: 'fixed' }
    await facilitator.settle(payment, offer, { ...terms, project: 'shop', appliedRate })
    expect(await ledger.payments.list({ project: 'shop', limit: 1 })).toMatchObject([
      { appliedRate },
    ])
  })

  it('takes nothing new after a veto, though what was open is released while it is verified', async () => {
    elsewhere.scripts = { verify: VALID, settle: PAID }
    const before = await reserve()
    await before.reopen()
    // The veto is asked for once: the first reservation came without the hook.
    const remote: Facilitator = {
      ...httpFacilitator({ url: elsewhere.url }),
      async verify() {
        const other = await facilitator.reserve(decoded(payment, offer), terms)
        if (!('refused' in other)) await other.release()
        return { isValid: true, payer }
      },
    }
    const vetoing = createRemoteFacilitator({
      ...{ facilitator: remote, formats, ledger, events, logger: silent },
      beforeVerify: () => ({ reason: 'No.' }),
    })
    expect(await vetoing.reserve(decoded(payment, offer), terms)).toMatchObject({
      ...{ refused: 'payment_declined', message: 'No.' },
    })
    expect(await ledger.payments.find(decoded(payment, offer).key)).toBeUndefined()
  })

  it('passes on a refusal, and keeps no record', async () => {
    elsewhere.scripts = { verify: [USED, VALID], settle: PAID }
    expect(await settle()).toEqual(failed('invalid_exact_evm_nonce_already_used'))
    expect(await settle()).toMatchObject({ success: true })
  })

  it('keeps no transaction that is not a hash', async () => {
    const own: Facilitator = {
      verify: async () => ({ isValid: true, payer }),
      settle: async () => ({ success: true, transaction: 'receipt 7', network, payer }),
      supported: async () => ({ kinds: [], extensions: [], signers: {} }),
    }
    const logger = silent
    const remote = createRemoteFacilitator({ facilitator: own, formats, ledger, events, logger })
    const answer = await remote.settle(payment, offer, { ...terms, project: 'shop' })
    expect(answer).toMatchObject({ success: true, transaction: 'receipt 7' })
    const [record] = await ledger.payments.list({ project: 'shop', limit: 1 })
    expect(record).toMatchObject({ state: 'settled', transaction: '0x' })
  })

  it('settles a payment there once', async () => {
    elsewhere.scripts = { verify: VALID, settle: PAID }
    expect(await settle()).toEqual({ success: true, transaction: TRANSACTION, network, payer })
    expect(await settle()).toEqual({
      ...{ success: false, errorReason: 'invalid_exact_evm_nonce_already_used' },
      errorMessage: expect.any(String),
      ...{ transaction: '', settledBy: TRANSACTION, network, payer },
    })
    expect(asked()).toEqual(['verify', 'settle'])
  })

  it('settles a payment once if it comes twenty times at once', async () => {
    elsewhere.scripts = { verify: VALID, settle: PAID }
    const answers = await Promise.all(Array.from({ length: 20 }, () => settle()))
    expect(answers.filter(({ success }) => success)).toHaveLength(1)
    const reasons = answers.flatMap((one) => (one.success ? [] : [one.errorReason]))
    expect(reasons).toHaveLength(19)
    // While its delivery is written down, the ledger takes its lock for another process's.
    const possible = ['duplicate_settlement', 'settlement_pending', USED_UP]
    expect(possible).toEqual(expect.arrayContaining([...new Set(reasons)]))
    expect(asked().filter((path) => path === 'settle')).toHaveLength(1)
  })

  it('accepts a released payment again', async () => {
    elsewhere.scripts = { verify: VALID, settle: PAID }
    await (await reserve()).release()
    expect(await settle()).toMatchObject({ success: true })
  })

  it('releases a payment that could not be settled', async () => {
    elsewhere.scripts = { verify: VALID, settle: [refusal('insufficient_funds'), PAID] }
    expect(await settle()).toEqual(failed('insufficient_funds'))
    expect(await settle()).toMatchObject({ success: true })
  })

  describe('that delivered nothing for a payment', () => {
    it('delivers once for the payment even though it is used up there', async () => {
      elsewhere.scripts = { verify: VALID, settle: PAID }
      const reservation = await reserve()
      await reservation.settle()
      await reservation.reopen()
      elsewhere.scripts = { verify: USED }
      const answers = await Promise.all(Array.from({ length: 10 }, () => settle()))
      expect(answers.filter(({ success }) => success)).toEqual([
        { success: true, transaction: TRANSACTION, network, payer },
      ])
      expect(await settle()).toEqual(failed('invalid_exact_evm_nonce_already_used'))
    })

    it('delivers nothing without the signature', async () => {
      elsewhere.scripts = { verify: VALID, settle: PAID }
      const reservation = await reserve()
      await reservation.settle()
      await reservation.reopen()
      elsewhere.scripts = { verify: USED }
      const thief = await signPayment(PAYERS[1]!, offer)
      const { signature } = thief.payload as { signature: string }
      elsewhere.scripts = { settle: refusal('invalid_exact_evm_payload_signature') }
      for (const forged of [signature, '0x11']) {
        const presented = { ...payment, payload: { ...payment.payload, signature: forged } }
        expect(await settle(presented)).toEqual(failed('invalid_exact_evm_nonce_already_used'))
      }
      expect(await settle()).toMatchObject({ success: true })
    })

    it('asks the remote side about a payment if the offer lacks its domain', async () => {
      elsewhere.scripts = { verify: VALID, settle: PAID }
      const reservation = await reserve()
      await reservation.settle()
      await reservation.reopen()
      elsewhere.scripts = { verify: USED }
      const bare = { ...offer, extra: null }
      elsewhere.scripts = { settle: refusal('invalid_exact_evm_nonce_already_used') }
      expect(await facilitator.settle(payment, bare, terms)).toEqual(
        failed('invalid_exact_evm_nonce_already_used'),
      )
    })

    it('does not ask the remote side to settle a payment that nothing was charged for', async () => {
      elsewhere.scripts = { verify: VALID, settle: PAID }
      const reservation = await reserve()
      const { key } = decoded(payment, offer)
      await ledger.payments.settleUncharged(key, reservation.lock)
      await reservation.reopen()
      // Unproven.
      expect(await facilitator.settle(payment, { ...offer, extra: null }, terms)).toEqual(
        failed('invalid_exact_evm_nonce_already_used'),
      )
      const again = await reserve()
      expect(await again.settle({ amount: 0n })).toMatchObject({ success: true, transaction: '' })
      expect(asked()).toEqual(['verify'])
    })

    it('releases a redeemed payment if its request fails', async () => {
      elsewhere.scripts = { verify: VALID, settle: PAID }
      const reservation = await reserve()
      await reservation.settle()
      await reservation.reopen()
      await (await reserve()).release()
      expect(await settle()).toMatchObject({ success: true })
    })
  })

  describe('whose answer to settle was lost', () => {
    const outages: [string, Script][] = [
      ['broke off', 'break'],
      ['timed out', 'hang'],
      ['was unreadable', { status: 502, body: '<html>' }],
    ]

    it.each(outages)(
      'asks about the payment again after it %s, and delivers once',
      async (_name, outage) => {
        use(createMemoryLedger(), outage === 'hang' ? 5000 : undefined)
        elsewhere.scripts = { verify: VALID, settle: outage }
        await expect(settle()).rejects.toMatchObject({ name: 'FacilitatorError' })
        elsewhere.scripts = { verify: USED, settle: used(TRANSACTION) }
        const answers = await Promise.all([settle(), settle(), settle()])
        expect(answers.filter(({ success }) => success)).toEqual([
          { success: true, transaction: TRANSACTION, network, payer },
        ])
        expect(await settle()).toEqual(failed('invalid_exact_evm_nonce_already_used'))
      },
    )

    it('delivers nothing for a transaction that the facilitator does not name as its settlement', async () => {
      elsewhere.scripts = { verify: VALID, settle: 'break' }
      await expect(settle()).rejects.toMatchObject({ name: 'FacilitatorError' })
      const someTransaction = refusal('invalid_exact_evm_nonce_already_used', TRANSACTION)
      elsewhere.scripts = { verify: USED, settle: someTransaction }
      // Nor is the buyer, who may have paid, told to sign another.
      expect(await settle()).toEqual(failed('settlement_pending'))
    })

    it('settles the payment if it was not settled', async () => {
      elsewhere.scripts = { verify: VALID, settle: ['break', PAID] }
      await expect(settle()).rejects.toMatchObject({ name: 'FacilitatorError' })
      expect(await settle()).toMatchObject({ success: true })
    })

    it('delivers nothing for an authorization that was used without paying', async () => {
      elsewhere.scripts = {
        verify: VALID,
        settle: ['break', refusal('invalid_exact_evm_nonce_already_used')],
      }
      await expect(settle()).rejects.toMatchObject({ name: 'FacilitatorError' })
      expect(await settle()).toEqual(failed('settlement_pending'))
    })

    it('keeps the payment open while it cannot be reached', async () => {
      elsewhere.scripts = { verify: VALID, settle: 'break' }
      for (let tries = 0; tries < 3; tries++)
        await expect(settle()).rejects.toMatchObject({ code: 'facilitator_unreachable' })
      elsewhere.scripts = { settle: PAID }
      expect(await settle()).toMatchObject({ success: true })
    })
  })

  it('is asked again by the successor of a process that ended during a call', async () => {
    const never = new Promise<void>(() => undefined)
    elsewhere.scripts = { verify: VALID, settle: 'hang' }
    const shared = createMemoryLedger()
    use(patchedLedger(shared, { unlock: () => never }))
    void settle().catch(() => undefined)
    await until(() => asked().includes('settle'))
    const [record] = await shared.payments.listSubmitted()
    // Its hold lapses.
    await shared.payments.unlock(record!)
    use(shared)
    elsewhere.scripts = { verify: USED, settle: used(TRANSACTION) }
    expect(await settle()).toMatchObject({ success: true, transaction: TRANSACTION })
    expect(await settle()).toEqual(failed('invalid_exact_evm_nonce_already_used'))
  })

  it('is not told the payment-identifier, which is answered here', async () => {
    elsewhere.scripts = { verify: VALID, settle: PAID }
    const info = { id: 'payment_0123456789abcdef' }
    const extensions = { 'payment-identifier': { info }, other: { info: {} } }
    await facilitator.verify({ ...payment, extensions }, offer, terms)
    expect(await settle({ ...payment, extensions })).toMatchObject({ success: true })
    const told = elsewhere.requests.map(({ body }) => (body as AskedBody).paymentPayload.extensions)
    const rest = { other: { info: {} } }
    expect(told).toEqual([rest, rest, rest])
  })

  it('is asked again until it knows if it still works on a call whose answer was lost', async () => {
    const busy = refusal('duplicate_settlement', TRANSACTION)
    elsewhere.scripts = { verify: VALID, settle: ['break', busy, PAID] }
    await expect(settle()).rejects.toMatchObject({ name: 'FacilitatorError' })
    expect(await settle()).toEqual(failed('settlement_pending'))
    expect(await settle()).toMatchObject({ success: true, transaction: TRANSACTION })
  })

  it('keeps the payment open if it works on a call that may be somebody else’s', async () => {
    elsewhere.scripts = { verify: VALID, settle: refusal('duplicate_settlement', TRANSACTION) }
    expect(await settle()).toEqual(failed('settlement_pending'))
    expect(await ledger.payments.listSubmitted()).toMatchObject([{ locked: false }])
  })

  it('is asked again until it knows if it answers pending', async () => {
    const pending = refusal('settlement_pending', TRANSACTION)
    elsewhere.scripts = { verify: VALID, settle: [pending, pending, PAID] }
    expect(await settle()).toEqual(failed('settlement_pending'))
    expect(await settle()).toEqual(failed('settlement_pending'))
    expect(await settle()).toMatchObject({ success: true, transaction: TRANSACTION })
    expect(await settle()).toEqual(failed('invalid_exact_evm_nonce_already_used'))
  })

  describe('whose answer is not known to be final', () => {
    it.each([
      'settlement_timeout',
      'settle_exact_node_failure',
      'unexpected_error',
      'invalid_exact_evm_transaction_simulation_failed',
      'invalid_transaction_state',
      'invalid_exact_evm_nonce_already_used',
    ])('keeps the payment open after %s, and the same request asks again', async (reason) => {
      elsewhere.scripts = { verify: VALID, settle: [refusal(reason), PAID] }
      expect(await settle()).toEqual(failed('settlement_pending'))
      expect(await settle()).toMatchObject({ success: true, transaction: TRANSACTION })
    })

    it('releases the payment if nothing was sent', async () => {
      const unread = [401, 413, 429].map((status) => ({ status, body: {} }))
      elsewhere.scripts = { verify: VALID, settle: [...unread, PAID] }
      for (const _ of unread) {
        await expect(settle()).rejects.toMatchObject({ isUnsent: true })
        expect(await ledger.payments.listSubmitted()).toEqual([])
      }
      expect(await settle()).toMatchObject({ success: true })
    })

    it.each([
      ['kyt_risk_detected', 403, { success: false, errorReason: 'kyt_risk_detected' }],
      ['self_send_not_allowed', 403, { errorType: 'self_send_not_allowed', errorMessage: 'no' }],
      ['credential_bound_elsewhere', 409, { code: 'credential_bound_elsewhere', message: 'no' }],
    ])(
      'is final where it is a refusal of another facilitator: %s',
      async (reason, status, body) => {
        const refused = { status, body }
        elsewhere.scripts = { verify: VALID, settle: [refused, 'break', refused, PAID] }
        expect(await settle()).toEqual(failed(reason))
        expect(await ledger.payments.listSubmitted()).toEqual([])
        // It says nothing of a request that was made before.
        await expect(settle()).rejects.toMatchObject({ name: 'FacilitatorError' })
        expect(await settle()).toEqual(failed('settlement_pending'))
        expect(await settle()).toMatchObject({ success: true })
      },
    )

    it('keeps the payment open when a second request is refused, because the first may have paid', async () => {
      const busy = { status: 429, body: {} }
      const poor = refusal('insufficient_funds')
      const other = refusal('invalid_transaction_state', `0x${'bb'.repeat(32)}`)
      elsewhere.scripts = { verify: VALID, settle: ['break', busy, poor, other, PAID] }
      for (let times = 0; times < 2; times++)
        await expect(settle()).rejects.toMatchObject({ name: 'FacilitatorError' })
      for (let times = 0; times < 2; times++)
        expect(await settle()).toEqual(failed('settlement_pending'))
      expect(await settle()).toMatchObject({ success: true })
    })

    it('fails the payment once its transaction has failed, and asks anew when it is presented again', async () => {
      const pending = refusal('settlement_pending', TRANSACTION)
      const reverted = refusal('invalid_transaction_state', TRANSACTION)
      elsewhere.scripts = { verify: VALID, settle: [pending, reverted] }
      expect(await settle()).toEqual(failed('settlement_pending'))
      const told = await settle()
      expect(told).toMatchObject({ errorReason: 'invalid_transaction_state' })
      // That the merchant was not paid is not known here.
      const errorMessage = 'The facilitator says that the transaction failed on chain.'
      expect(told).toMatchObject({ errorMessage })
      expect(await settle()).toMatchObject({
        errorReason: 'invalid_transaction_state',
        errorMessage,
      })
      expect(asked()).toEqual(['verify', 'settle', 'settle', 'verify', 'settle'])
      const [first, second, , third] = elsewhere.requests
        .slice(1)
        .map(({ headers }) => headers['idempotency-key'])
      expect(second).toBe(first)
      expect(third).not.toBe(first)
    })
  })

  it('is called with exactly the offered entry and the resource of the route', async () => {
    elsewhere.scripts = { verify: VALID, settle: PAID }
    const accepted = { ...offer, extra: { ...offer.extra, offerId: 'abc' }, protocolVersion: 2 }
    const url = 'https://shop.example/a'
    const resource = { url: 'https://other.example/', description: 'a' }
    const offered = { ...payment, accepted, resource }
    await facilitator.settle(offered, offer, { ...terms, purchase: { url } })
    const another = await signPayment(PAYERS[0]!, offer)
    const changed = { ...another, accepted: { ...accepted, maxTimeoutSeconds: 1 } }
    await facilitator.settle(changed, offer, { ...terms, purchase: { url } })
    const bodies = elsewhere.requests.map(({ body }) => JSON.stringify(body))
    const asSent = { ...offered, resource: { ...resource, url } }
    const whole = { x402Version: 2, paymentPayload: asSent, paymentRequirements: accepted }
    expect(bodies.slice(0, 2)).toEqual([JSON.stringify(whole), JSON.stringify(whole)])
    for (const { body } of elsewhere.requests.slice(2))
      expect(body).toMatchObject({ paymentRequirements: offer })
  })

  it('is quoted in the log once a minute and reason, and never to the buyer', async () => {
    const warnings: object[] = []
    const logger = { ...silent, warn: (_m: string, fields?: object) => void warnings.push(fields!) }
    const remote = httpFacilitator({ url: elsewhere.url })
    facilitator = createRemoteFacilitator({ facilitator: remote, formats, ledger, events, logger })
    const said = 'no\u001b[31m network\nhere'
    const invalidReason = 'invalid_network'
    elsewhere.scripts = {
      verify: { body: { isValid: false, invalidReason, invalidMessage: said } },
    }
    const told = await facilitator.verify(payment, offer, terms)
    await facilitator.verify(await signPayment(PAYERS[0]!, offer), offer, terms)
    const facilitatorMessage = 'no [31m network here'
    expect(warnings).toEqual([{ path: 'verify', reason: invalidReason, facilitatorMessage }])
    expect(told).toMatchObject({ invalidReason, invalidMessage: expect.stringContaining('seller') })
    const errorReason = 'settle_exact_node_failure'
    const failure = { success: false, errorReason, errorMessage: said }
    elsewhere.scripts = { verify: VALID, settle: { body: failure } }
    for (let times = 0; times < 2; times++)
      expect(JSON.stringify(await settle(await signPayment(PAYERS[0]!, offer)))).not.toContain(
        '31m',
      )
    expect(warnings[1]).toEqual({ path: 'settle', reason: errorReason, facilitatorMessage })
    expect(warnings).toHaveLength(2)
  })

  describe('and a ledger that is away', () => {
    const without = (method: keyof LedgerMethods): LedgerStore =>
      patchedLedger(createMemoryLedger(), {
        [method]: async () => {
          throw new LedgerError('ledger_unavailable', 'The disk is full.')
        },
      })

    it.each(['find', 'reserve'] as const)('settles nothing while %s fails', async (method) => {
      use(without(method))
      elsewhere.scripts = { verify: VALID, settle: PAID }
      await expect(settle()).rejects.toMatchObject({ code: 'ledger_unavailable' })
      expect(asked()).not.toContain('settle')
    })

    it('answers with the settlement and logs it while settle fails', async () => {
      use(without('markSettled'))
      elsewhere.scripts = { verify: VALID, settle: PAID }
      expect(await settle()).toMatchObject({ success: true })
      expect(errors).toHaveLength(1)
      expect(await settle()).toEqual(failed('invalid_exact_evm_nonce_already_used'))
    })

    it('explains why the settlement is unknown while yield fails', async () => {
      use(without('unlock'))
      elsewhere.scripts = { verify: VALID, settle: 'break' }
      await expect(settle()).rejects.toMatchObject({ code: 'facilitator_unreachable' })
      expect(errors).toHaveLength(1)
    })
  })
})
