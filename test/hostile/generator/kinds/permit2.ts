import { encodeAbiParameters, keccak256, numberToHex } from 'viem/utils'
import { privateKeyToAccount } from 'viem/accounts'
import { signTypedData } from '../../../../src/shared/crypto/sign-typed-data.js'
import { permit2TypedData } from '../../../../src/shared/protocol/typed-data.js'
import type { Devnet } from '../../../../src/tools/devnet/index.js'
import { sendBatch } from '../../../../src/tools/devnet/send-batch.js'
import { sameHex } from '../../../../src/shared/protocol/hex.js'
import type {
  Hex,
  PaymentPayload,
  PaymentRequirements,
} from '../../../../src/shared/protocol/payment.js'
import type { TestPayer } from '../../../support/sign-payment.js'
import type { Kind, Terms } from '../kind.js'
import type { Mutation } from '../mutation.js'

/** As `DevnetInfo` has them. */
const PERMIT2: Devnet['permit2'] = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
const EXACT_PROXY: Devnet['exactPermit2Proxy'] = '0x402085c248EeA27D92E8b30b2C58ed07f9E20001'
const UPTO_PROXY: Devnet['uptoPermit2Proxy'] = '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002'
const PLAIN_TOKEN: Devnet['plainToken'] = '0x0000000000000000000000000000000000000e20'
const PERMIT_TOKEN: Devnet['permitToken'] = '0x0000000000000000000000000000000000002612'

const DOLLAR = { currency: 'USD', permit2: true } as const

/** `payload` of a payment, as a wallet signs it. */
async function permitOf(
  shape: Kind['shape'],
  { payer, entry, terms }: { payer: TestPayer; entry: PaymentRequirements; terms: Terms },
): Promise<PaymentPayload['payload']> {
  const isMetered = shape === 'upto'
  const { token, payTo, spender = isMetered ? UPTO_PROXY : EXACT_PROXY } = terms
  const named =
    terms.facilitator ?? (entry.extra?.['facilitatorAddress'] as Hex | undefined) ?? payTo
  const authorization = {
    from: payer.address,
    permitted: { token, amount: String(terms.amount) },
    spender,
    nonce: String(BigInt(terms.nonce)),
    deadline: String(terms.validBefore),
    witness: {
      to: payTo,
      ...(isMetered && { facilitator: named }),
      validAfter: String(terms.validAfter),
    },
  }
  const typedData = permit2TypedData(authorization, terms.chainId)
  const signature = await signTypedData(typedData, payer.privateKey)
  return { signature, permit2Authorization: authorization }
}

const NOBODY: Hex = `0x${'0'.repeat(40)}`
const STRANGER: Hex = `0x${'6'.repeat(40)}`

/** Another value of one of the terms; a function makes one of the others. */
type TermChange = readonly [
  name: string,
  part: 'spender' | 'facilitator' | 'approval',
  value: (terms: Terms) => Terms['approval'] | Hex,
]

const changes = (...all: readonly TermChange[]): readonly Mutation[] =>
  all.map(([name, part, value]) => ({
    stage: 'terms',
    name: `signed for ${name}`,
    parts: [`terms.${part}`],
    verdict: 'refused',
    change: (terms) => ({ ...terms, [part]: value(terms) }),
  }))

const SPENDERS: readonly TermChange[] = [
  ['Permit2 as spender', 'spender', () => PERMIT2],
  ['the payee as spender', 'spender', ({ payTo }) => payTo],
  ['the token as spender', 'spender', ({ token }) => token],
  ['nobody as spender', 'spender', () => NOBODY],
]
const ofExact = changes(
  ['the spender of metered payments', 'spender', () => UPTO_PROXY],
  ...SPENDERS,
)
const ofUpto = changes(
  ['the spender of fixed payments', 'spender', () => EXACT_PROXY],
  ...SPENDERS,
  ['a stranger as facilitator', 'facilitator', () => STRANGER],
  ['the payee as facilitator', 'facilitator', ({ payTo }) => payTo],
  ['nobody as facilitator', 'facilitator', () => NOBODY],
  ['Permit2 as facilitator', 'facilitator', () => PERMIT2],
)
const ofApprovals = changes(
  ['an approval of one unit less', 'approval', ({ amount }) => ({ amount: amount - 1n })],
  ['an approval of one unit more', 'approval', ({ amount }) => ({ amount: amount + 1n })],
  ['an approval of everything', 'approval', () => ({ amount: 2n ** 256n - 1n })],
  ['an approval of nothing', 'approval', () => ({ amount: 0n })],
  ['an approval until yesterday', 'approval', () => ({ deadline: nowSeconds() - 86_400n })],
  ['an approval for three seconds', 'approval', () => ({ deadline: nowSeconds() + 3n })],
  ['a later approval', 'approval', () => ({ nonce: 1n })],
  ['the last of all approvals', 'approval', () => ({ nonce: 2n ** 256n - 1n })],
  ['an approval of a stranger', 'approval', () => ({ spender: STRANGER })],
  ['an approval of the proxy', 'approval', () => ({ spender: EXACT_PROXY })],
  ['an approval by a stranger', 'approval', () => ({ owner: STRANGER })],
  ['an approval on another chain', 'approval', () => ({ chainId: 8453 })],
)
const nowSeconds = (): bigint => BigInt(Math.floor(Date.now() / 1000))

const isOffered =
  (scheme: string, token: Hex): Kind['takes'] =>
  (entry) =>
    entry.scheme === scheme &&
    entry.extra?.['assetTransferMethod'] === 'permit2' &&
    sameHex(entry.asset, token)

const inPermit = (name: string): string => `payload.permit2Authorization.${name}`

/** `exact` by Permit2, which the payer has approved. */
export const permit2: Kind = {
  name: 'permit2',
  shape: 'permit2',
  asset: { ...DOLLAR, address: PLAIN_TOKEN, symbol: 'PLAIN', decimals: 6 },
  takes: isOffered('exact', PLAIN_TOKEN),
  pay: async (payer, entry, terms) => ({
    x402Version: 2,
    accepted: { ...entry },
    payload: await permitOf('permit2', { payer, entry, terms }),
  }),
  async accountsOf({ rpcUrl }, owners) {
    const everything = numberToHex(2n ** 256n - 1n)
    const approvals = owners.map((owner) => {
      const slot = slotOf(PERMIT2, slotOf(owner, numberToHex(ALLOWANCES_SLOT, { size: 32 })))
      return ['anvil_setStorageAt', PLAIN_TOKEN, slot, everything] as const
    })
    await sendBatch(rpcUrl, approvals)
    return owners
  },
  parts: {
    uints: ['permitted.amount', 'deadline', 'witness.validAfter'].map(inPermit),
    addresses: ['from', 'permitted.token', 'spender', 'witness.to'].map(inPermit),
    numbers: [inPermit('nonce')],
    words: [],
    signatures: ['payload.signature'],
  },
  mutations: ofExact,
}

/** `upto`: the same up to a maximum. */
export const upto: Kind = {
  ...permit2,
  name: 'upto',
  shape: 'upto',
  takes: isOffered('upto', PLAIN_TOKEN),
  pay: async (payer, entry, terms) => ({
    x402Version: 2,
    accepted: { ...entry },
    payload: await permitOf('upto', { payer, entry, terms }),
  }),
  parts: {
    ...permit2.parts,
    addresses: [...permit2.parts.addresses, inPermit('witness.facilitator')],
  },
  mutations: ofUpto,
}

/** Of `allowance` in OpenZeppelin's ERC-20. */
const ALLOWANCES_SLOT = 1
const slotOf = (key: Hex, mapping: Hex): Hex =>
  keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'bytes32' }], [key, mapping]))

const APPROVAL = 'extensions.eip2612GasSponsoring.info'

/** An approval of Permit2, as a wallet signs it (EIP-2612). */
async function approvalOf({ privateKey, address }: TestPayer, terms: Terms): Promise<object> {
  const usual = { owner: address, spender: PERMIT2, nonce: 0n, chainId: 84_532 }
  const { amount, validBefore: deadline } = terms
  const { chainId, ...approval } = { ...usual, amount, deadline, ...terms.approval }
  const signature = await privateKeyToAccount(privateKey).signTypedData({
    domain: { name: 'Permit Token', version: '1', chainId, verifyingContract: PERMIT_TOKEN },
    types: {
      Permit: [
        { name: 'owner', type: 'address' },
        { name: 'spender', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'nonce', type: 'uint256' },
        { name: 'deadline', type: 'uint256' },
      ],
    },
    primaryType: 'Permit',
    message: { ...approval, value: approval.amount },
  })
  const { owner: from, spender } = approval
  return {
    ...{ from, asset: PERMIT_TOKEN, spender, signature, version: '1' },
    amount: String(approval.amount),
    nonce: String(approval.nonce),
    deadline: String(approval.deadline),
  }
}

/** A kind of payment, with an approval of Permit2 that the payer has signed. */
const sponsored = (kind: Kind): Kind => ({
  ...kind,
  name: `${kind.name} with a sponsored approval`,
  asset: { ...DOLLAR, address: PERMIT_TOKEN, symbol: 'PERMIT', decimals: 18 },
  needsExtensions: true,
  takes: isOffered(kind.shape === 'upto' ? 'upto' : 'exact', PERMIT_TOKEN),
  pay: async (payer, entry, terms) => ({
    ...(await kind.pay(payer, entry, terms)),
    extensions: { eip2612GasSponsoring: { info: await approvalOf(payer, terms) } },
  }),
  parts: {
    ...kind.parts,
    uints: [...kind.parts.uints, `${APPROVAL}.amount`, `${APPROVAL}.deadline`],
    addresses: [
      ...kind.parts.addresses,
      ...['from', 'asset', 'spender'].map((name) => `${APPROVAL}.${name}`),
    ],
    signatures: [...kind.parts.signatures, `${APPROVAL}.signature`],
  },
  mutations: [...(kind.mutations ?? []), ...ofApprovals],
})

export const sponsoredPermit2 = sponsored(permit2)
export const sponsoredUpto = sponsored(upto)
