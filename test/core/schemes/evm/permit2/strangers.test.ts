/** Which transactions of strangers have paid a permit: those whose bytes leave no doubt, and no others. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { setTimeout as sleep } from 'node:timers/promises'
import { erc20Abi } from 'viem'
import { concatHex, encodeFunctionData, numberToHex, size } from 'viem/utils'
import { aggregate, execute, MULTICALL3, word } from '../../../../../src/core/chain/abi.js'
import type { Call, Receipt } from '../../../../../src/core/chain/types.js'
import type { Hex, PaymentPayload } from '../../../../../src/shared/protocol/payment.js'
import { findUse } from '../../../../../src/core/schemes/evm/confirm/outcome.js'
import type { SettlementNetwork } from '../../../../../src/core/schemes/evm/network/settlement-network.js'
import { BELIEVED_AFTER_MS, permit2 } from '../../../../../src/core/schemes/evm/permit2/permit2.js'
import type { JudgedPayment } from '../../../../../src/core/schemes/evm/transfer/transfer-method.js'
import { isRefusal, type Reservation } from '../../../../../src/core/schemes/scheme.js'
import { permit2Abi } from '../../../../tools/devnet/abis.js'
import { deploy } from '../../../../support/contracts.js'
import { askNode, openCore, payingOn, type Core } from '../../../../support/core.js'
import { decoded } from '../../../../support/decoded.js'
import { useDevnet } from '../../../../support/devnet.js'
import { callOf, toHex, untilMined } from '../../../../support/on-chain.js'
import { nonceOf, permit2On } from '../../../../support/permit2.js'
import { isSend, type RpcProxy, startRpcProxy } from '../../../../support/rpc-proxy.js'
import type { TestPayer } from '../../../../support/sign-payment.js'
import { withoutMining } from '../../../../support/mining.js'

const devnet = useDevnet()
const { approvedPayer, assets, balanceOf, invalidate, newPayer, offer, sendFrom } =
  permit2On(devnet)
const { settleAsStranger, sign, terms } = permit2On(devnet)
const { merchantBalance, sign: authorize } = payingOn(devnet)

const STRANGER = '0x00000000000000000000000000000000005712a6'

let proxy: RpcProxy
let core: Core
beforeEach(async () => {
  proxy = await startRpcProxy(devnet.rpcUrl)
  core = openCore(devnet, { rpcUrl: proxy.url, assets: assets() })
  await askNode(devnet, 'anvil_setBalance', STRANGER, toHex(10n ** 18n))
  await askNode(devnet, 'anvil_impersonateAccount', STRANGER)
})
afterEach(async () => {
  core.close()
  await proxy.close()
})

async function reserve(payment: PaymentPayload): Promise<Reservation> {
  const reserved = await core.facilitator.reserve(decoded(payment, offer()), terms())
  if (isRefusal(reserved)) throw new Error(`It was refused: ${reserved.refused}`)
  return reserved
}

async function recordOf(payment: PaymentPayload): Promise<JudgedPayment> {
  return (await core.ledger.payments.find(decoded(payment, offer()).key))!
}

/** The call that settles a payment. */
function settling(payment: PaymentPayload, requirements = offer()): Call {
  const { facts } = decoded(payment, requirements)
  const signature = payment.payload['signature'] as Hex
  return permit2.call({ facts, signature }, { asset: {} as never })
}

/** The call that settles an authorization of somebody else by ERC-3009. */
async function byErc3009(): Promise<Call> {
  return { to: devnet.asset, data: callOf(await authorize(await newPayer())) }
}

/** The call that settles a permit of somebody else, for himself. */
async function dust(): Promise<Call> {
  const payer = await approvedPayer()
  const requirements = { ...offer({ amount: '1' }), payTo: payer.address }
  return settling(await sign(payer, requirements), requirements)
}

/** Multicall3 may move the price from a payer to the merchant: what he may pay for something else. */
async function plainTransfer({ address }: TestPayer): Promise<Call> {
  const abi = erc20Abi
  const allowed = encodeFunctionData({ abi, functionName: 'approve', args: [MULTICALL3, 10_000n] })
  await sendFrom(address, devnet.asset, allowed)
  const args = [address, devnet.merchant.address, 10_000n] as const
  const data = encodeFunctionData({ abi, functionName: 'transferFrom', args })
  return { to: devnet.asset, data }
}

/** A contract that makes these calls, whatever it is called with. */
function deploySaying(calls: readonly Call[]): Promise<Hex> {
  const data = aggregate(calls)
  const length = concatHex(['0x61', numberToHex(size(data), { size: 2 })])
  const copy = concatHex([length, '0x61002d600039'])
  const call = concatHex(['0x60006000', length, '0x60006000', '0x73', MULTICALL3, '0x5af1', '0x00'])
  const code = concatHex([copy, call])
  return deploy(devnet, concatHex([code.padEnd(2 + 0x2d * 2, '0') as Hex, data]))
}

/** Mines a stranger's call right after the payer has burnt the nonce of a payment: in one block. */
async function mineAfterBurning(payer: TestPayer, payment: PaymentPayload, { to, data }: Call) {
  const nonce = nonceOf(payment)
  const burn = encodeFunctionData({
    abi: permit2Abi,
    functionName: 'invalidateUnorderedNonces',
    args: [nonce >> 8n, 1n << (nonce & 255n)],
  })
  const fees = { maxFeePerGas: toHex(10n ** 11n), gas: '0x2dc6c0' }
  const first = { ...fees, maxPriorityFeePerGas: toHex(10n ** 10n) }
  return withoutMining(devnet, async () => {
    await askNode(devnet, 'anvil_impersonateAccount', payer.address)
    await askNode(devnet, 'anvil_setBalance', payer.address, toHex(10n ** 18n))
    const from = payer.address
    await askNode(devnet, 'eth_sendTransaction', { from, to: devnet.permit2, data: burn, ...first })
    const sent = { from: STRANGER, to, data, ...fees, maxPriorityFeePerGas: '0x1' }
    const transaction = await askNode<Hex>(devnet, 'eth_sendTransaction', sent)
    await devnet.mine()
    const receipt = await core.chain.getReceipt(transaction)
    expect(receipt?.succeeded).toBe(true)
    return receipt!
  })
}

/** Multicall3 makes these calls for a stranger, with gas for all of them. */
async function sendAsStranger(data: Hex): Promise<Hex> {
  const sent = { from: STRANGER, to: MULTICALL3, data, gas: '0x2dc6c0' }
  const transaction = await askNode<Hex>(devnet, 'eth_sendTransaction', sent)
  await untilMined(devnet, transaction)
  return transaction
}

const execution = (calls: readonly Call[]): Hex =>
  execute(calls.map((call) => ({ ...call, gas: 1_000_000n })))

describe('a payment whose nonce is burnt in the block of a transfer of the same amount', () => {
  type Attack = (payer: TestPayer, payment: PaymentPayload) => Promise<Call>
  const equal = async (payer: TestPayer): Promise<Call> => settling(await sign(payer, offer()))
  const batch = (calls: readonly Call[]): Call => ({ to: MULTICALL3, data: aggregate(calls) })

  const attacks: Record<string, Attack> = {
    'an equal payment of his, in a batch with one by ERC-3009': async (payer) =>
      batch([await byErc3009(), await equal(payer)]),
    'an equal payment of his, in a batch that calls this one as well': async (payer, payment) =>
      batch([settling(payment), await equal(payer)]),
    'a plain transfer, beside a permit of somebody else': async (payer) =>
      batch([await plainTransfer(payer), await dust()]),
    'a plain transfer, beside this payment and a permit of somebody else': async (payer, payment) =>
      batch([settling(payment), await plainTransfer(payer), await dust()]),
    'a plain transfer by a contract that only seems to be an executor': async (payer, payment) => ({
      to: await deploySaying([await plainTransfer(payer), await dust()]),
      data: execution([settling(payment)]),
    }),
    'a plain transfer by a contract that is called with rubbish': async (payer) => ({
      to: await deploySaying([await plainTransfer(payer), await dust()]),
      data: '0x3f707e6bffffffff',
    }),
  }

  it.each(Object.entries(attacks))('is not paid by %s', async (_name, attack) => {
    const payer = await approvedPayer()
    const payment = await sign(payer, offer())
    const reserved = await reserve(payment)
    const [call, before] = [await attack(payer, payment), await balanceOf(payer.address)]
    const receipt = await mineAfterBurning(payer, payment, call)
    expect(before - (await balanceOf(payer.address))).toBe(10_000n)
    expect(await judge(receipt, await recordOf(payment))).toMatchObject({ kind: 'failed' })
    expect(await reserved.settle()).toMatchObject({ success: false })
  })
})

describe('a payment that a stranger settles', () => {
  it('in a batch has paid, whatever else is settled there', async () => {
    const payer = await approvedPayer()
    const payment = await sign(payer, offer())
    const reserved = await reserve(payment)
    const calls = [settling(payment), await byErc3009(), settling(await sign(payer, offer()))]
    const transaction = await sendAsStranger(aggregate(calls))
    expect(await reserved.settle()).toMatchObject({ success: true, transaction })
  })

  it.each([
    ['before ours is sent', 600],
    ['while ours is on its way', 0],
  ])('by a contract that nobody can read, %s, is told from a cancelled one', async (_when, ms) => {
    const payment = await sign(await approvedPayer(), offer())
    const reserved = await reserve(payment)
    const before = await merchantBalance()
    const inside = aggregate([settling(payment)])
    const transaction = await sendAsStranger(aggregate([{ to: MULTICALL3, data: inside }]))
    await sleep(ms)
    const used = { errorReason: 'permit2_invalid_nonce', transaction }
    expect(await reserved.settle()).toMatchObject({ success: false, ...used })
    expect((await merchantBalance()) - before).toBe(10_000n)
    const reason = 'permit2_invalid_nonce'
    expect(await recordOf(payment)).toMatchObject({ state: 'failed', reason, transaction })
    const again = await core.facilitator.settle(payment, offer(), terms())
    expect(again).toMatchObject({ success: false, errorReason: expect.stringMatching(/nonce/) })
  })

  it('by such a contract, when ours is mined in vain, counts among the failures of its payer', async () => {
    const payer = await approvedPayer()
    // A slow machine simulates it once more before it is sent, and does not send it then.
    while (proxy.methods.filter(isSend).length < 2) {
      const payment = await sign(payer, offer())
      const reserved = await reserve(payment)
      const inside = aggregate([settling(payment)])
      await sendAsStranger(aggregate([{ to: MULTICALL3, data: inside }]))
      expect(await reserved.settle()).toMatchObject({ errorReason: 'permit2_invalid_nonce' })
    }
    const next = await core.facilitator.verify(await sign(payer, offer()), offer(), terms())
    expect(next).toMatchObject({ invalidReason: 'payer_temporarily_refused' })
  })

  it('by such a contract is named by one record alone', async () => {
    const payer = await approvedPayer()
    const all = [await sign(payer, offer()), await sign(payer, offer())]
    const reserved = await Promise.all(all.map(reserve))
    const inside = aggregate([settling(all[0]!)])
    const transaction = await sendAsStranger(aggregate([{ to: MULTICALL3, data: inside }]))
    await invalidate(payer, all[1]!)
    expect(await reserved[0]!.settle()).toMatchObject({ transaction })
    const second = await reserved[1]!.settle()
    expect(second).toMatchObject({
      success: false,
      transaction: expect.not.stringMatching(transaction),
    })
  })

  it('is open while the node does not have the transaction', async () => {
    const payment = await sign(await approvedPayer(), offer())
    await reserve(payment)
    const record = await recordOf(payment)
    const calls = [settling(payment), await byErc3009()]
    const receipt = (await core.chain.getReceipt(await sendAsStranger(aggregate(calls))))!
    proxy.fault = (method) =>
      method === 'eth_getTransactionByHash' ? { kind: 'answer', result: null } : undefined
    expect(await judge(receipt, record)).toMatchObject({ kind: 'open' })
    proxy.fault = undefined
    expect(await judge(receipt, record)).toMatchObject({ kind: 'paid' })
  })
})

describe('a payment that its payer cancels', () => {
  type Transfer = (payer: TestPayer) => Promise<string>
  const others: Record<string, Transfer> = {
    'an equal payment of his was settled here': async (payer) =>
      (await core.facilitator.settle(await sign(payer, offer()), offer(), terms())).transaction,
    'a stranger settled an equal one of his by calls that can be read': async (payer) =>
      (await settleAsStranger(await sign(payer, offer()))).transactionHash,
    'he has moved the same amount by a contract that nobody can read': async (payer) => {
      const inside = aggregate([await plainTransfer(payer)])
      return sendAsStranger(aggregate([{ to: MULTICALL3, data: inside }]))
    },
  }

  it.each(Object.entries(others))('names no transfer, although %s', async (_name, transfer) => {
    const payer = await approvedPayer()
    const payment = await sign(payer, offer())
    const reserved = await reserve(payment)
    const transaction = await transfer(payer)
    await invalidate(payer, payment)
    const settled = await reserved.settle()
    expect(settled).toMatchObject({ success: false })
    expect(settled.transaction).not.toBe(transaction)
  })
})

describe('a payment among many equal ones of its payer', () => {
  /** Settles payments in transactions of their own, by a stranger who does not wait for each. */
  async function settleEach(payer: TestPayer, count: number): Promise<void> {
    await withoutMining(devnet, async () => {
      for (let sent = 0; sent < count; sent++) {
        const { to, data } = settling(await sign(payer, offer()))
        await askNode(devnet, 'eth_sendTransaction', { from: STRANGER, to, data, gas: '0x30d40' })
        if (sent % 50 === 49) await devnet.mine()
      }
    })
  }

  it('is not taken for unpaid until all of them were looked at, in several searches', async () => {
    const payer = await approvedPayer()
    const [paid, cancelled] = [await sign(payer, offer()), await sign(payer, offer())]
    const reserved = await Promise.all([paid, cancelled].map(reserve))
    await invalidate(payer, cancelled)
    const transaction = await sendAsStranger(aggregate([settling(paid)]))
    await settleEach(payer, 150)

    const [good, failed] = [await recordOf(paid), await recordOf(cancelled)]
    const search = (record: JudgedPayment) => findUse(networkOf(core), record)
    expect(await search(good)).toEqual({ kind: 'open' })
    expect(await search(good)).toMatchObject({ kind: 'paid', transaction })
    expect(await search(failed)).toEqual({ kind: 'open' })
    await sleep(BELIEVED_AFTER_MS)
    expect(await search(failed)).toMatchObject({ kind: 'failed' })

    expect(await reserved[0]!.settle()).toMatchObject({ success: true, transaction })
  })

  it('is open while its search does not reach back to its reservation', async () => {
    const payer = await approvedPayer()
    const payment = await sign(payer, offer())
    await reserve(payment)
    await invalidate(payer, payment)
    const { createdAt: _unknown, ...record } = await recordOf(payment)
    const search = () => findUse(networkOf(core), record)
    await search()
    await sleep(BELIEVED_AFTER_MS)
    expect(await search()).toEqual({ kind: 'open' })
  })
})

describe('equal payments of a transaction of ours, one of which was used before', () => {
  /** Settles two of them together, after one was used by something else, and has the node forget the block. */
  async function settleBoth(use: (payer: TestPayer, payment: PaymentPayload) => Promise<unknown>) {
    let settled = await settleTogether(use)
    // The second one may have been too late for the transaction of the first.
    while (!settled.isShared) settled = await settleTogether(use)
    const { before, paid, transaction } = settled
    const receipt = (await core.chain.getReceipt(transaction))!
    const good = await recordOf(paid)
    const failed = { ...(await recordOf(before)), submission: good.submission }
    expect(await judge(receipt, good)).toMatchObject({ kind: 'paid' })
    expect(await judge(receipt, failed)).toMatchObject({ kind: 'failed' })
    await askNode(devnet, 'anvil_mine', '0x60')
    proxy.fault = (method, [, block]) =>
      method === 'eth_call' && block !== 'latest'
        ? { kind: 'refuse', code: -32000, message: 'missing trie node' }
        : undefined
    return { receipt, good, failed }
  }

  /** Settles two at once; one of them is used before anything is sent. */
  async function settleTogether(
    use: (payer: TestPayer, payment: PaymentPayload) => Promise<unknown>,
  ) {
    const payer = await approvedPayer()
    const [before, paid] = [await sign(payer, offer()), await sign(payer, offer())]
    const reserved = await Promise.all([before, paid].map(reserve))
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
    const settled = Promise.all(reserved.map((one) => one.settle()))
    await asked
    await use(payer, before)
    letGo()
    const answers = await settled
    expect(answers[1]).toMatchObject({ success: true })
    const transaction = answers[1]!.transaction as Hex
    const { data } = (await core.chain.getCall(transaction))!
    const isShared = data.includes(word(nonceOf(before)))
    return { before, paid, transaction, isShared }
  }

  it('are told apart, and are open where the node has forgotten the block', async () => {
    const { receipt, good, failed } = await settleBoth(invalidate)
    const open = { kind: 'open', forgottenBlock: receipt.blockNumber }
    expect(await judge(receipt, good)).toEqual(open)
    expect(await judge(receipt, failed)).toEqual(open)
  })

  it('are told apart without that block where another transaction has paid one', async () => {
    const { receipt, good, failed } = await settleBoth((_payer, one) => settleAsStranger(one))
    expect(await judge(receipt, good)).toMatchObject({ kind: 'paid' })
    expect(await judge(receipt, failed)).toMatchObject({ kind: 'failed' })
  })
})

describe('a payment of long ago', () => {
  it('is found however few blocks the node searches at once', async () => {
    const payer = await approvedPayer()
    const payment = await sign(payer, offer())
    await reserve(payment)
    const transaction = await sendAsStranger(aggregate([settling(payment)]))
    await askNode(devnet, 'anvil_mine', toHex(600n))
    proxy.fault = (method, [filter]) => {
      const { fromBlock = '0x0', toBlock } = (filter ?? {}) as { fromBlock?: Hex; toBlock?: Hex }
      const isTooWide = toBlock === undefined || BigInt(toBlock) - BigInt(fromBlock) > 500n
      return method === 'eth_getLogs' && isTooWide
        ? { kind: 'refuse', code: -32602, message: 'block range is too wide' }
        : undefined
    }
    const found = await findUse(networkOf(core), await recordOf(payment))
    expect(found).toMatchObject({ kind: 'paid', transaction })
  })
})

/** What a search asks. */
function networkOf({ chain, relayers }: Core): SettlementNetwork {
  return { chain, relayers, assets: new Map() } as unknown as SettlementNetwork
}

function judge(receipt: Receipt, payment: JudgedPayment) {
  return permit2.judge({ ...core, assets: new Map() }, receipt, payment)
}
