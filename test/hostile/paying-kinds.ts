/** Pays a shop's facilitator by every kind of payment that is generated. */
import { privateKeyToAddress } from 'viem/accounts'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import type { Devnet } from '../../src/tools/devnet/index.js'
import type { Hex, PaymentPayload, PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { shopOptions } from '../support/devnet.js'
import { newNonce, type TestPayer } from '../support/sign-payment.js'
import type { Kind } from './generator/kind.js'
import { kinds } from './generator/kinds/kinds.js'

const own = kinds.flatMap(({ asset }) => asset ?? [])
const assets = ['USDC', ...new Map(own.map((asset) => [asset.address, asset])).values()]

/** A shop on a devnet that takes them all. */
export function optionsOfKinds(devnet: Devnet): GatewayOptions {
  const { networks } = shopOptions(devnet)
  const network = { ...networks!['base-sepolia']!, assets }
  return shopOptions(devnet, {
    networks: { 'base-sepolia': { ...network, allowedFactories: [devnet.accountFactory] } },
  })
}

const tokenOf = (devnet: Devnet, { asset }: Kind): Hex => (asset?.address as Hex) ?? devnet.asset

/** What a payer of a kind is asked to pay: one cent of USDC. */
export function offerOfKind(devnet: Devnet, kind: Kind): PaymentRequirements {
  const { shape } = kind
  return {
    scheme: shape === 'upto' ? 'upto' : 'exact',
    network: 'eip155:84532',
    amount: '10000',
    payTo: devnet.merchant.address,
    maxTimeoutSeconds: 300,
    asset: tokenOf(devnet, kind),
    extra: {
      ...(shape === 'eip3009'
        ? { name: 'USDC', version: '2' }
        : { assetTransferMethod: 'permit2' }),
      ...(shape === 'upto' && { facilitatorAddress: privateKeyToAddress(devnet.relayerKeys[0]!) }),
    },
  }
}

/** Payers of a kind, each with a million units, and what else they need to pay. */
export async function payersOfKind(
  devnet: Devnet,
  kind: Kind,
  count: number,
): Promise<readonly TestPayer[]> {
  const keys = Array.from({ length: count }, newNonce)
  const owners = keys.map((key) => privateKeyToAddress(key))
  const accounts = (await kind.accountsOf?.(devnet, owners)) ?? owners
  for (const account of accounts) await devnet.mint(account, 1_000_000n, tokenOf(devnet, kind))
  return keys.map((privateKey, index) => ({ privateKey, address: accounts[index]! }))
}

/** Pays what is asked for. */
export function payByKind(
  devnet: Devnet,
  kind: Kind,
  payer: TestPayer,
  nonce = newNonce(),
): Promise<PaymentPayload> {
  const offer = offerOfKind(devnet, kind)
  const now = BigInt(Math.floor(Date.now() / 1000))
  return kind.pay(payer, offer, {
    amount: BigInt(offer.amount),
    payTo: devnet.merchant.address,
    token: tokenOf(devnet, kind),
    chainId: devnet.chainId,
    validAfter: now - 600n,
    validBefore: now + 300n,
    nonce,
  })
}
