import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type {
  PaymentPayload,
  PaymentRequirements,
} from '../../../../../src/shared/protocol/payment.js'
import { isRefusal, type Reservation } from '../../../../../src/core/schemes/scheme.js'
import { offerOf, openCore, termsOf, type Core } from '../../../../support/core.js'
import { decoded } from '../../../../support/decoded.js'
import { useDevnet } from '../../../../support/devnet.js'
import { newPayer } from '../../../../support/on-chain.js'
import { type RpcProxy, startRpcProxy } from '../../../../support/rpc-proxy.js'
import { signPayment } from '../../../../support/sign-payment.js'
import { until } from '../../../../support/until.js'

const devnet = useDevnet()
/** Longer than a test takes: what waits for it has failed. */
const LONG_MS = 240_000
let offer: PaymentRequirements
let proxy: RpcProxy
let core: Core

beforeEach(async () => {
  offer = offerOf(devnet)
  proxy = await startRpcProxy(devnet.rpcUrl)
  core = openCore(devnet, { rpcUrl: proxy.url, gatherMs: LONG_MS })
})
afterEach(async () => {
  core.close()
  await proxy.close()
})

const newPayment = async (amount = offer.amount): Promise<PaymentPayload> =>
  signPayment(await newPayer(devnet), { ...offer, amount })

async function reserve(payment: PaymentPayload): Promise<Reservation> {
  const reserved = await core.facilitator.reserve(decoded(payment, offer), termsOf(devnet))
  if (isRefusal(reserved)) throw new Error(`It was refused: ${reserved.refused}`)
  return reserved
}

/** Keeps the next simulation waiting: `asked` resolves when it has come, `answer` lets it end. */
function holdSimulation() {
  let answer = (): void => undefined
  const answered = new Promise<void>((resolve) => (answer = resolve))
  const asked = new Promise<void>((resolve) => {
    proxy.fault = async (method) => {
      if (method !== 'eth_call') return undefined
      proxy.fault = undefined
      resolve()
      await answered
      return undefined
    }
  })
  return { asked, answer }
}

describe('a payment that is settled while another is verified', () => {
  it('waits for the other, and both share a transaction', async () => {
    // On a slow machine, the other may be too late once it is verified.
    await until(async () => {
      const first = await reserve(await newPayment())
      const { asked, answer } = holdSimulation()
      const reserving = reserve(await newPayment())
      await asked
      const before = core.happened().length
      const settling = first.settle()
      // It would have been sent by then.
      await new Promise((resolve) => setTimeout(resolve, 300))
      expect(core.happened().slice(before)).not.toContain('submitted')
      answer()
      const [settled, alsoSettled] = await Promise.all([settling, (await reserving).settle()])
      expect([settled.success, alsoSettled.success]).toEqual([true, true])
      return alsoSettled.transaction === settled.transaction
    })
  })

  it('is sent once the other is refused', async () => {
    const first = await reserve(await newPayment())
    const { asked, answer } = holdSimulation()
    const reserving = core.facilitator.reserve(
      decoded(await newPayment('900000000'), { ...offer, amount: '900000000' }),
      termsOf(devnet),
    )
    await asked
    const settling = first.settle()
    answer()
    expect(await reserving).toMatchObject({ refused: 'insufficient_funds' })
    expect(await settling).toMatchObject({ success: true })
  })

  it('does not wait for a payment that nobody is about to settle', async () => {
    const first = await reserve(await newPayment())
    const { asked, answer } = holdSimulation()
    const verifying = core.facilitator.verify(await newPayment(), offer, termsOf(devnet))
    await asked
    expect(await first.settle()).toMatchObject({ success: true })
    answer()
    expect(await verifying).toMatchObject({ isValid: true })
  })

  it('does not wait for a reserved payment, however long its handler takes', async () => {
    const [first, other] = [await reserve(await newPayment()), await reserve(await newPayment())]
    expect(await first.settle()).toMatchObject({ success: true })
    await other.release()
  })
})
