/** A payment that was verified a moment ago vouches for itself alone: the same with one member changed is checked anew. */
import { describe, expect, it } from '@jest/globals'
import { privateKeyToAddress } from 'viem/accounts'
import { sameHex } from '../../src/protocol/hex.js'
import type { Hex, PaymentPayload, PaymentRequirements } from '../../src/protocol/payment.js'
import { minedCount } from '../support/core.js'
import { shopOptions, useDevnet } from '../support/devnet.js'
import { useShop } from '../support/shop.js'
import { newNonce, type TestPayer } from '../support/sign-payment.js'
import type { Kind } from './generator/kind.js'
import { kinds } from './generator/kinds/kinds.js'

const devnet = useDevnet()
const own = kinds.flatMap(({ asset }) => asset ?? [])
const assets = ['USDC', ...new Map(own.map((asset) => [asset.address, asset])).values()]
const shop = useShop(
  devnet,
  () => undefined,
  () => ({
    networks: {
      'base-sepolia': {
        ...shopOptions(devnet).networks!['base-sepolia']!,
        assets,
        allowedFactories: [devnet.accountFactory],
      },
    },
    projects: [{ id: 'shop', merchant: { payTo: devnet.merchant.address } }],
  }),
)

/** What a payer of a kind is asked to pay. */
const offerFor = ({ shape, asset }: Kind): PaymentRequirements => ({
  scheme: shape === 'upto' ? 'upto' : 'exact',
  network: 'eip155:84532',
  amount: '10000',
  payTo: devnet.merchant.address,
  maxTimeoutSeconds: 300,
  asset: (asset?.address ?? devnet.asset) as Hex,
  extra: {
    ...(shape === 'eip3009' ? { name: 'USDC', version: '2' } : { assetTransferMethod: 'permit2' }),
    ...(shape === 'upto' && { facilitatorAddress: privateKeyToAddress(devnet.relayerKeys[0]!) }),
  },
})

/** Two payers of a kind, with money, and what else they need to pay. */
async function payersOf(kind: Kind): Promise<readonly [TestPayer, TestPayer]> {
  const keys = [newNonce(), newNonce()] as const
  const owners = keys.map(privateKeyToAddress)
  const accounts = (await kind.accountsOf?.(devnet, owners)) ?? owners
  for (const account of accounts)
    await devnet.mint(account, 1_000_000n, (kind.asset?.address ?? devnet.asset) as Hex)
  const [one, other] = keys.map((privateKey, index) => ({ privateKey, address: accounts[index]! }))
  return [one!, other!]
}

const pay = (kind: Kind, payer: TestPayer): Promise<PaymentPayload> => {
  const offer = offerFor(kind)
  const now = BigInt(Math.floor(Date.now() / 1000))
  return kind.pay(payer, offer, {
    amount: BigInt(offer.amount),
    payTo: offer.payTo as Hex,
    token: offer.asset as Hex,
    chainId: devnet.chainId,
    validAfter: now - 600n,
    validBefore: now + 300n,
    nonce: newNonce(),
  })
}

const valueAt = (document: object, path: string): string =>
  path.split('.').reduce<unknown>((at, name) => (at as never)[name], document) as string

function withValue(document: object, path: string, value: string): PaymentPayload {
  const copy = structuredClone(document) as PaymentPayload
  const names = path.split('.')
  const parent = names.slice(0, -1).reduce<object>((at, name) => (at as never)[name], copy)
  Object.assign(parent, { [names.at(-1)!]: value })
  return copy
}

/** Another value of a member, as another payment of another payer has it, or one that is as good. */
function otherValue(payment: PaymentPayload, another: PaymentPayload, path: string): string {
  const [value, other] = [valueAt(payment, path), valueAt(another, path)]
  if (!sameHex(value, other)) return other
  return value.startsWith('0x')
    ? `${value.slice(0, -1)}${value.endsWith('1') ? '2' : '1'}`
    : `${BigInt(value) - 1n}`
}

/** The same payment, of another payer wherever it names one. */
const inNameOf = (victim: TestPayer, payer: TestPayer, payment: PaymentPayload): PaymentPayload =>
  JSON.parse(
    JSON.stringify(payment).replaceAll(new RegExp(payer.address, 'gi'), victim.address),
  ) as PaymentPayload

describe.each(kinds.map((kind) => [kind.name, kind] as const))(
  '%s, once verified',
  (_name, kind) => {
    it('vouches for no payment that differs in one member', async () => {
      const { facilitator } = shop.gateway
      const offer = offerFor(kind)
      const [payer, victim] = await payersOf(kind)
      const payment = await pay(kind, payer)
      const another = await pay(kind, victim)
      const sent = () => minedCount(devnet, privateKeyToAddress(devnet.relayerKeys[0]!))
      const before = await sent()
      const parts = Object.values(kind.parts).flat() as string[]
      const taken: string[] = []
      const forgeries = parts.map(
        (path) => [path, withValue(payment, path, otherValue(payment, another, path))] as const,
      )
      const all = [...forgeries, ['payer', inNameOf(victim, payer, payment)] as const]
      for (const [name, forged] of all) {
        expect(await facilitator.verify(payment, offer)).toMatchObject({ isValid: true })
        const settled = await facilitator.settle(forged, offer)
        if (settled.success || settled.transaction !== '') taken.push(name)
      }
      const failed = (await sent()) - before
      process.stdout.write(
        `${kind.name}: of ${all.length} changed members ${taken.length} were taken (${taken.join(', ')}); ${failed} transactions of ours\n`,
      )
      expect({ taken, failed }).toEqual({ taken: [], failed: 0 })
      expect(await facilitator.settle(payment, offer)).toMatchObject({ success: true })
    })
  },
)
