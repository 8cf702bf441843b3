import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { isRefusal, type Reservation } from '../../../../../src/core/schemes/scheme.js'
import type { PaymentKey } from '../../../../../src/shared/protocol/payment-key.js'
import type {
  Hex,
  PaymentPayload,
  SettleResponse,
} from '../../../../../src/shared/protocol/payment.js'
import { oddTokenAbi } from '../../../../tools/devnet/abis.js'
import { oddTokenCode } from '../../../../tools/devnet/hostile-code.js'
import { oddTokenModes } from '../../../../tools/devnet/odd-token.js'
import { permit2Of } from '../../../../tools/devnet/permit2.js'
import { undo } from '../../../../support/on-chain.js'
import { deploy } from '../../../../support/contracts.js'
import { offerOf, openCore, type Core } from '../../../../support/core.js'
import { decoded } from '../../../../support/decoded.js'
import { useDevnet } from '../../../../support/devnet.js'
import { approvalOf, permit2On } from '../../../../support/permit2.js'
import { isSend, type RpcProxy, startRpcProxy } from '../../../../support/rpc-proxy.js'
import { until } from '../../../../support/until.js'
import { newNonce, signPayment, type TestPayer } from '../../../../support/sign-payment.js'
import { signPermit } from '../../../../support/sign-permit.js'

const devnet = useDevnet()
const { approve, approvedPayer, asset, assets, balanceOf, invalidate, moveAway, newPayer } =
  permit2On(devnet)
const { offer, sign, settleAsStranger, terms, usePermit } = permit2On(devnet)
const { send } = permit2Of(devnet)

let proxy: RpcProxy
let core: Core
beforeEach(async () => {
  proxy = await startRpcProxy(devnet.rpcUrl)
  core = openCore(devnet, { rpcUrl: proxy.url, assets: assets() })
})
afterEach(async () => {
  core.close()
  await proxy.close()
})

async function reserve(payment: PaymentPayload, requirements = offer()): Promise<Reservation> {
  const reserved = await core.facilitator.reserve(decoded(payment, requirements), terms())
  if (isRefusal(reserved)) throw new Error(`It was refused: ${reserved.refused}`)
  return reserved
}

const keyOf = (payment: PaymentPayload): PaymentKey => decoded(payment, offer()).key

/** Holds transactions back: `asked` resolves when one has come, `letGo` lets it through. */
function holdTransactions() {
  let letGo = (): void => undefined
  const isOver = new Promise<void>((resolve) => (letGo = resolve))
  const asked = new Promise<void>((resolve) => {
    proxy.fault = async (method) => {
      if (!isSend(method)) return undefined
      resolve()
      await isOver
      return undefined
    }
  })
  return { asked, letGo }
}

const merchantHas = (token?: Hex) => balanceOf(devnet.merchant.address, token)

const succeeded = (answers: readonly SettleResponse[]): boolean[] =>
  answers.map(({ success }) => success)

describe('one nonce of Permit2', () => {
  const OTHER_MERCHANT = '0x00000000000000000000000000000000000000bb'
  const cases = {
    'two tokens': () => [offer(), offer({ token: devnet.plainToken, extra: {} })],
    'two merchants': () => [offer(), { ...offer(), payTo: OTHER_MERCHANT }],
    'two amounts': () => [offer(), offer({ amount: '20000' })],
  }

  it.each(Object.entries(cases))('pays once, for %s at once', async (_name, offersOf) => {
    const payer = await approvedPayer()
    await devnet.mint(payer.address, 1_000_000n, devnet.plainToken)
    await approve(payer.address, devnet.plainToken)
    const nonce = String(BigInt(newNonce()))
    const settled = await Promise.all(
      offersOf().map(async (one) =>
        core.facilitator
          .settle(await signPermit(payer, one, { nonce }), one, {
            ...terms(),
            payTo: one.payTo as Hex,
          })
          .catch(() => ({ success: false })),
      ),
    )
    expect(settled.filter(({ success }) => success)).toHaveLength(1)
  })

  it.each(Object.entries(cases))(
    'pays once, for %s one after the other',
    async (_name, offersOf) => {
      const payer = await approvedPayer()
      await devnet.mint(payer.address, 1_000_000n, devnet.plainToken)
      await approve(payer.address, devnet.plainToken)
      const nonce = String(BigInt(newNonce()))
      const settle = async (core: Core, one: ReturnType<typeof offer>) =>
        core.facilitator.settle(await signPermit(payer, one, { nonce }), one, {
          ...terms(),
          payTo: one.payTo as Hex,
        })
      const [first, second] = offersOf() as [ReturnType<typeof offer>, ReturnType<typeof offer>]
      expect(await settle(core, first)).toMatchObject({ success: true })
      expect(await settle(core, second)).toMatchObject({
        success: false,
        errorReason: 'invalid_exact_evm_nonce_already_used',
      })
      // Another ledger knows nothing of the first.
      const other = openCore(devnet, { assets: assets(), relayerKey: devnet.relayerKeys[1]! })
      expect(await settle(other, second)).toMatchObject({
        success: false,
        errorReason: 'permit2_invalid_nonce',
      })
      other.close()
    },
  )

  it('pays no second time under another spelling', async () => {
    const payer = await approvedPayer()
    const spellings = ['171', '0xab', '0xAB', `0x${'ab'.padStart(64, '0')}`]
    const settled: SettleResponse[] = []
    for (const nonce of spellings) {
      const payment = await signPermit(payer, offer(), { nonce })
      settled.push(await core.facilitator.settle(payment, offer(), terms()))
    }
    expect(succeeded(settled)).toEqual([true, false, false, false])
    expect(await balanceOf(payer.address)).toBe(9_990_000n)
  })

  it('is none of an authorization by ERC-3009 with the same number', async () => {
    const payer = await approvedPayer()
    const nonce = newNonce()
    const permit = await signPermit(payer, offer(), { nonce: String(BigInt(nonce)) })
    const plain = offerOf(devnet)
    const authorization = await signPayment(payer, plain, { nonce })
    const settled = await Promise.all([
      core.facilitator.settle(permit, offer(), terms()),
      core.facilitator.settle(authorization, plain, terms()),
    ])
    expect(succeeded(settled)).toEqual([true, true])
    expect(await balanceOf(payer.address)).toBe(9_980_000n)
  })

  it('is signed for the spender of the scheme alone', async () => {
    const payer = await approvedPayer()
    for (const spender of [devnet.uptoPermit2Proxy, core.relayer.address]) {
      const payment = await signPermit(payer, offer(), { spender })
      expect(await core.facilitator.verify(payment, offer(), terms())).toMatchObject({
        isValid: false,
        invalidReason: 'invalid_permit2_spender',
      })
    }
  })
})

describe('what a permit says', () => {
  it('is not taken for an offer of ERC-3009, nor the other way round', async () => {
    const payer = await approvedPayer()
    const plain = offerOf(devnet)
    const permit = { ...(await sign(payer, offer())), accepted: { ...plain } }
    const authorization = { ...(await signPayment(payer, plain)), accepted: { ...offer() } }
    expect(await core.facilitator.verify(permit, plain, terms())).toMatchObject({
      invalidReason: 'invalid_payload',
    })
    expect(await core.facilitator.verify(authorization, offer(), terms())).toMatchObject({
      invalidReason: 'invalid_payload',
    })
  })
})

describe('a payer that changes its mind between verification and settlement', () => {
  const changes = {
    'invalidates the nonce': (payer: TestPayer, payment: PaymentPayload) =>
      invalidate(payer, payment),
    'moves the balance': (payer: TestPayer) => moveAway(payer, 9_999_999n),
    'withdraws the allowance': (payer: TestPayer) => approve(payer.address, devnet.asset, 0n),
  }

  it.each(Object.entries(changes))(
    '%s: it gets nothing, and its neighbours in the batch are paid',
    async (_name, change) => {
      // On a slow machine each may go alone.
      for (let isShared = false; !isShared;) {
        const [hostile, ...honest] = await Promise.all([
          approvedPayer(),
          approvedPayer(),
          approvedPayer(),
        ])
        const payments = await Promise.all(
          [hostile, ...honest].map((payer) => sign(payer, offer())),
        )
        const reserved = await Promise.all(payments.map((one) => reserve(one)))
        const { asked, letGo } = holdTransactions()
        const before = await merchantHas()
        const settling = Promise.all(reserved.map((one) => one.settle()))
        await asked
        await change(hostile, payments[0]!)
        letGo()
        const settled = await settling
        expect(succeeded(settled)).toEqual([false, true, true])
        expect((await merchantHas()) - before).toBe(20_000n)
        isShared = settled[1]!.transaction === settled[2]!.transaction
      }
    },
  )
})

describe('a payment that a stranger settles', () => {
  it('before we do has paid', async () => {
    const payment = await sign(await approvedPayer(), offer())
    const reserved = await reserve(payment)
    const { transactionHash } = await settleAsStranger(payment)
    expect(await reserved.settle()).toMatchObject({ success: true, transaction: transactionHash })
    await reserved.markDelivered()
  })

  it('before we do has paid, though we find that out before we send', async () => {
    const payment = await sign(await approvedPayer(), offer())
    const reserved = await reserve(payment)
    const { transactionHash } = await settleAsStranger(payment)
    // The simulation is out of date by then.
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(await reserved.settle()).toMatchObject({ success: true, transaction: transactionHash })
    expect(proxy.methods.filter(isSend)).toEqual([])
  })

  it('has not paid where its nonce was only burnt, as we find out before we send', async () => {
    const payer = await approvedPayer()
    const payment = await sign(payer, offer())
    const reserved = await reserve(payment)
    await invalidate(payer, payment)
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(await reserved.settle()).toMatchObject({
      success: false,
      errorReason: 'permit2_invalid_nonce',
    })
    expect(proxy.methods.filter(isSend)).toEqual([])
  })

  it('while our transaction is on its way has paid', async () => {
    const payment = await sign(await approvedPayer(), offer())
    const reserved = await reserve(payment)
    const { asked, letGo } = holdTransactions()
    const settling = reserved.settle()
    await asked
    const { transactionHash } = await settleAsStranger(payment)
    letGo()
    expect(await settling).toMatchObject({ success: true, transaction: transactionHash })
  })

  it('is not paid by another equal payment, whose nonce was used while its own was burnt', async () => {
    const payer = await approvedPayer()
    const [burnt, paid] = [await sign(payer, offer()), await sign(payer, offer())]
    const reserved = await reserve(burnt)
    await settleAsStranger(paid)
    await invalidate(payer, burnt)
    expect(await reserved.settle()).toMatchObject({ success: false })
  })
})

describe('a payment that a reorganisation undoes', () => {
  it('is sent again, and is paid once', async () => {
    core.close()
    core = openCore(devnet, { assets: assets(), reconcileIntervalMs: 100 })
    const payer = await approvedPayer()
    const payment = await sign(payer, offer())
    const before = await merchantHas()
    const settled = await core.facilitator.settle(payment, offer(), terms())
    expect(settled).toMatchObject({ success: true })
    await undo(devnet, settled.transaction as Hex)
    await until(async () => (await merchantHas()) === before + 10_000n)
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(await merchantHas()).toBe(before + 10_000n)
    expect(await core.ledger.payments.find(keyOf(payment))).toMatchObject({ state: 'settled' })
  })
})

describe('twenty equal payments of one payer in a transaction or two', () => {
  /** Burns the nonces of some while their transactions are held back. */
  async function holdTwenty(burnt: ReadonlySet<number>) {
    const payer = await approvedPayer()
    const signAll = (length: number) =>
      Promise.all(Array.from({ length }, () => sign(payer, offer())))
    const reserveAll = (all: readonly PaymentPayload[]) =>
      Promise.all(all.map((one) => reserve(one)))
    // Who has paid sixteen times may have twenty on their way.
    for (const one of await reserveAll(await signAll(16))) await one.settle()
    const payments = await signAll(20)
    const reserved = await reserveAll(payments)
    const { asked, letGo } = holdTransactions()
    const before = await merchantHas()
    const settling = reserved.map((one) => one.settle())
    await asked
    for (const index of burnt) await invalidate(payer, payments[index]!)
    return { payments, reserved, before, settling, letGo }
  }

  it('are told apart by a process that has only their records', async () => {
    const burnt = new Set([1, 2, 7, 19])
    const { payments, before, settling, letGo } = await holdTwenty(burnt)
    const send = proxy.fault!
    proxy.fault = async (method, params) =>
      isSend(method) || method === 'eth_call' ? send(method, params) : { kind: 'drop_request' }
    letGo()
    await until(async () => (await merchantHas()) - before === 160_000n)
    core.close()
    await Promise.allSettled(settling)
    const { ledger } = core
    core = openCore(devnet, { ledger, assets: assets(), reconcileIntervalMs: 100 })
    const states = () =>
      Promise.all(payments.map(async (one) => (await ledger.payments.find(keyOf(one)))?.state))
    await until(async () => (await states()).filter((one) => one === 'settled').length === 16)
    // The others are locked by the requests that had them.
    const settled = (await states()).map((state) => state === 'settled')
    expect(settled).toEqual(payments.map((_one, index) => !burnt.has(index)))
  })

  it('pay for as many as were not burnt', async () => {
    const burnt = new Set([0, 3, 4, 11, 18, 19])
    const { payments, reserved, before, settling, letGo } = await holdTwenty(burnt)
    letGo()
    const settled = await Promise.all(settling)
    const transactions = settled.filter(({ success }) => success).map((one) => one.transaction)
    // The first few may go before the others are gathered.
    expect(new Set(transactions).size).toBeLessThan(transactions.length)
    expect(succeeded(settled)).toEqual(payments.map((_one, index) => !burnt.has(index)))
    for (const [index, one] of reserved.entries()) if (!burnt.has(index)) await one.markDelivered()
    expect((await merchantHas()) - before).toBe(140_000n)
  })
})

describe('a token whose transfers are odd', () => {
  it.each(['fee', 'twice', 'nothing'] as const)('pays for nothing: %s', async (mode) => {
    const token = await deploy(devnet, oddTokenCode)
    await core.relayers.requireReady()
    const payer = await newPayer(token)
    await approve(payer.address, token)
    core.close()
    core = openCore(devnet, { rpcUrl: proxy.url, assets: [...assets(), asset(token, 'Odd')] })
    const requirements = offer({ token, extra: {} })
    const accepts = [...terms().accepts, asset(token, 'Odd')]
    const payment = await sign(payer, requirements)
    const found = await core.facilitator.reserve(decoded(payment, requirements), {
      ...terms(),
      accepts,
    })
    if (isRefusal(found)) throw new Error(found.refused)
    await send({
      address: token,
      abi: oddTokenAbi,
      functionName: 'behave',
      args: [oddTokenModes[mode]],
    })
    expect(await found.settle()).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_transfer_event_mismatch',
    })
  })
})

describe('an allowance of Permit2', () => {
  it('is missing', async () => {
    const payer = await newPayer()
    const payment = await signPermit(payer, offer())
    expect(await core.facilitator.verify(payment, offer(), terms())).toMatchObject({
      invalidReason: 'permit2_allowance_required',
    })
  })

  it('covers no more payments at once than it has', async () => {
    const payer = await newPayer()
    await approve(payer.address, devnet.asset, 25_000n)
    const payments = await Promise.all(Array.from({ length: 3 }, () => signPermit(payer, offer())))
    const found = await Promise.all(
      payments.map((one) => core.facilitator.reserve(decoded(one, offer()), terms())),
    )
    expect(found.filter(isRefusal)).toMatchObject([{ refused: 'permit2_allowance_required' }])
    const reserved = found.filter((one) => !isRefusal(one)) as Reservation[]
    expect(succeeded(await Promise.all(reserved.map((one) => one.settle())))).toEqual([true, true])
  })

  it('does not stand in the way of payments by ERC-3009', async () => {
    const payer = await newPayer()
    await approve(payer.address, devnet.asset, 10_000n)
    await reserve(await signPermit(payer, offer()))
    const plain = offerOf(devnet)
    const payment = await signPayment(payer, plain)
    expect(await core.facilitator.settle(payment, plain, terms())).toMatchObject({ success: true })
  })
})

describe('a sponsored approval', () => {
  const requirements = () =>
    offer({ token: devnet.permitToken, extra: { name: 'Permit Token', version: '1' } })
  const sponsored = async (payer: TestPayer): Promise<PaymentPayload> =>
    sign(payer, requirements(), { isSponsored: true })

  it('pays from an account that has no gas money and has approved nothing', async () => {
    const payer = await newPayer(devnet.permitToken)
    const payment = await sponsored(payer)
    expect(payment.extensions).toBeDefined()
    const settled = await core.facilitator.settle(payment, requirements(), terms())
    expect(settled).toMatchObject({ success: true })
    expect(await balanceOf(payer.address, devnet.permitToken)).toBe(9_990_000n)
  })

  it.each([
    ['from', '0x00000000000000000000000000000000000000aa', 'eip2612_from_mismatch'],
    ['asset', '0x00000000000000000000000000000000000000aa', 'eip2612_asset_mismatch'],
    ['spender', '0x00000000000000000000000000000000000000aa', 'eip2612_spender_not_permit2'],
    ['deadline', '1', 'eip2612_deadline_expired'],
    ['amount', '20000', 'permit2_2612_amount_mismatch'],
    ['amount', '-1', 'invalid_eip2612_extension_format'],
    ['signature', '0x00', 'invalid_eip2612_extension_format'],
  ])('is for this payment alone: %s', async (member, value, reason) => {
    const payment = await sponsored(await newPayer(devnet.permitToken))
    const { info } = payment.extensions!['eip2612GasSponsoring'] as { info: object }
    const extensions = { eip2612GasSponsoring: { info: { ...info, [member]: value } } }
    const answer = await core.facilitator.verify(
      { ...payment, extensions },
      requirements(),
      terms(),
    )
    expect(answer).toMatchObject({ isValid: false, invalidReason: reason })
  })

  it('is verified with its payment, and not swapped for another afterwards', async () => {
    const payment = await sponsored(await newPayer(devnet.permitToken))
    expect(await core.facilitator.verify(payment, requirements(), terms())).toMatchObject({
      isValid: true,
    })
    const { info } = payment.extensions!['eip2612GasSponsoring'] as { info: { signature: Hex } }
    const signature = info.signature.replace(/^0x../, '0x01')
    const extensions = { eip2612GasSponsoring: { info: { ...info, signature } } }
    const before = proxy.methods.filter(isSend).length
    expect(
      await core.facilitator.settle({ ...payment, extensions }, requirements(), terms()),
    ).toMatchObject({ success: false, errorReason: 'permit2_allowance_required' })
    expect(proxy.methods.filter(isSend)).toHaveLength(before)
  })

  it('makes one payment at a time', async () => {
    const payer = await newPayer(devnet.permitToken)
    const found = await Promise.all(
      (await Promise.all([sponsored(payer), sponsored(payer)])).map((one) =>
        core.facilitator.reserve(decoded(one, requirements()), terms()),
      ),
    )
    expect(found.filter(isRefusal)).toMatchObject([{ refused: 'permit2_allowance_required' }])
  })

  it('may be used by a stranger before, and the transfer decides', async () => {
    const payer = await newPayer(devnet.permitToken)
    const payment = await sponsored(payer)
    const reserved = await reserve(payment, requirements())
    const { asked, letGo } = holdTransactions()
    const settling = reserved.settle()
    await asked
    await usePermit(payer, devnet.permitToken, approvalOf(payment))
    letGo()
    expect(await settling).toMatchObject({ success: true })
  })

  it('may be spoilt by its payer, who gets nothing then', async () => {
    const payer = await newPayer(devnet.permitToken)
    const payment = await sponsored(payer)
    const reserved = await reserve(payment, requirements())
    const { asked, letGo } = holdTransactions()
    const settling = reserved.settle()
    await asked
    await usePermit(payer, devnet.permitToken, approvalOf(payment))
    await approve(payer.address, devnet.permitToken, 0n)
    letGo()
    expect(await settling).toMatchObject({ success: false })
    expect(await balanceOf(payer.address, devnet.permitToken)).toBe(10_000_000n)
  })
})
