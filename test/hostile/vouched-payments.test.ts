/** A payment that was verified a moment ago vouches for itself alone: the same with one member changed is checked anew. */
import { describe, expect, it } from '@jest/globals'
import { privateKeyToAddress } from 'viem/accounts'
import { sameHex } from '../../src/shared/protocol/hex.js'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { minedCount } from '../support/core.js'
import { useDevnet } from '../support/devnet.js'
import { useShop } from '../support/shop.js'
import type { TestPayer } from '../support/sign-payment.js'
import { kinds } from './generator/kinds/kinds.js'
import { offerOfKind, optionsOfKinds, payByKind, payersOfKind } from './paying-kinds.js'

const devnet = useDevnet()
const shop = useShop(
  devnet,
  () => undefined,
  () => optionsOfKinds(devnet),
)

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
      const offer = offerOfKind(devnet, kind)
      const [payer, victim] = (await payersOfKind(devnet, kind, 2)) as [TestPayer, TestPayer]
      const payment = await payByKind(devnet, kind, payer)
      const another = await payByKind(devnet, kind, victim)
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
