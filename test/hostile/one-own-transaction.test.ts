/** One transaction of a payer's own can fail all of his payments that are on their way: they are few. */
import { describe, expect, it } from '@jest/globals'
import { encodeFunctionData, erc20Abi, numberToHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { permit2Abi } from '../tools/devnet/abis.js'
import { askNode } from '../support/core.js'
import { useDevnet } from '../support/devnet.js'
import { resumeMining, stopMining } from '../support/mining.js'
import { sendAs, toHex } from '../support/on-chain.js'
import { useShop } from '../support/shop.js'
import type { TestPayer } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { erc3009 } from './generator/kinds/erc3009.js'
import { permit2, upto } from './generator/kinds/permit2.js'
import type { Kind } from './generator/kind.js'
import { offerOfKind, optionsOfKinds, payByKind, payersOfKind } from './paying-kinds.js'

const devnet = useDevnet()
const shop = useShop(
  devnet,
  () => undefined,
  () => optionsOfKinds(devnet),
)

interface Mined {
  readonly from: Hex
  readonly gasUsed: Hex
}
const blockNumber = async () => Number(await askNode<Hex>(devnet, 'eth_blockNumber'))

/** Gas of our transactions since a block. */
async function gasSince(first: number): Promise<number> {
  const relayers = devnet.relayerKeys.map((key) => privateKeyToAddress(key).toLowerCase())
  let sum = 0
  for (let block = first + 1; block <= (await blockNumber()); block++) {
    const receipts = await askNode<Mined[]>(devnet, 'eth_getBlockReceipts', toHex(block))
    for (const { from, gasUsed } of receipts) if (relayers.includes(from)) sum += Number(gasUsed)
  }
  return sum
}

const settle = async (kind: Kind, payer: TestPayer, count: number) => {
  const payments = await Promise.all(
    Array.from({ length: count }, () => payByKind(devnet, kind, payer)),
  )
  const { facilitator } = shop.gateway
  return Promise.all(payments.map((one) => facilitator.settle(one, offerOfKind(devnet, kind))))
}

const KINDS = [erc3009, permit2, upto]

describe.each(KINDS.map((kind) => [kind.name, kind] as const))('by %s', (_name, kind) => {
  it('a payer who empties his account ahead of 60 payments fails four of them', async () => {
    const [thief] = (await payersOfKind(devnet, kind, 1)) as [TestPayer]
    const isOfThief = ({ payer }: { readonly payer?: string | undefined }) =>
      payer === thief.address
    const first = await blockNumber()
    await stopMining(devnet)
    const settled = settle(kind, thief, 60)
    const sent = () => shop.events.submitted?.filter(isOfThief).length ?? 0
    await until(() => sent() >= 4)
    const args = [devnet.merchant.address, 1_000_000n] as const
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args })
    await sendAs(devnet, thief.address, data, offerOfKind(devnet, kind).asset as Hex)
    await resumeMining(devnet)
    const answers = await settled
    const failed = shop.events.failed?.filter(isOfThief).length ?? 0
    const gas = await gasSince(first)
    process.stdout.write(`${kind.name}: ${failed} of 60 payments failed, at ${gas} gas of ours\n`)
    expect(answers.filter(({ success }) => success)).toEqual([])
    expect(failed).toBeLessThanOrEqual(4)
    expect(gas).toBeLessThan(450_000)
  })

  it('a new buyer who pays 20 times at once is served 20 times', async () => {
    const [buyer] = (await payersOfKind(devnet, kind, 1)) as [TestPayer]
    const answers = await settle(kind, buyer, 20)
    expect(answers.map(({ success }) => success)).toEqual(Array.from(answers, () => true))
  })
})

it('a payer who has bought twenty times cancels the permits of 16 payments once, and names none of his purchases', async () => {
  const [thief] = (await payersOfKind(devnet, permit2, 1)) as [TestPayer]
  const offer = offerOfKind(devnet, permit2)
  const ofThief = (name: 'submitted' | 'failed') =>
    (shop.events[name] ?? []).filter(({ payer }) => payer === thief.address)
  const bought = await settle(permit2, thief, 20)
  expect(bought.map(({ success }) => success)).toEqual(Array.from(bought, () => true))
  const first = await blockNumber()
  /** Pays 16 times, by the nonces of one word of Permit2, and cancels them all before they are mined. */
  const cancelAll = async (word: bigint) => {
    const payments = await Promise.all(
      Array.from({ length: 16 }, (_, bit) =>
        payByKind(devnet, permit2, thief, numberToHex((word << 8n) | BigInt(bit), { size: 32 })),
      ),
    )
    await stopMining(devnet)
    const before = ofThief('submitted').length
    const settled = Promise.all(payments.map((one) => shop.gateway.facilitator.settle(one, offer)))
    let isOver = false
    void settled.then(() => (isOver = true))
    await until(() => isOver || ofThief('submitted').length - before === 16)
    const args = [word, 0xffffn] as const
    const data = encodeFunctionData({
      abi: permit2Abi,
      functionName: 'invalidateUnorderedNonces',
      args,
    })
    await sendAs(devnet, thief.address, data, devnet.permit2)
    await resumeMining(devnet)
    return settled
  }
  const one = await cancelAll(7n)
  expect(new Set(one.map((answer) => !answer.success && answer.errorReason))).toEqual(
    new Set(['invalid_transaction_state']),
  )
  const purchases = bought.map(({ transaction }) => transaction)
  expect(ofThief('failed').filter(({ transaction }) => purchases.includes(transaction))).toEqual([])
  const two = await cancelAll(8n)
  expect(new Set(two.map((answer) => !answer.success && answer.errorReason))).toEqual(
    new Set(['payer_temporarily_refused']),
  )
  process.stdout.write(`permit2: 16 cancelled payments took ${await gasSince(first)} gas of ours\n`)
})
