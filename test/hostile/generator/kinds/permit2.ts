import { encodeAbiParameters, keccak256, numberToHex } from 'viem/utils'
import { privateKeyToAccount } from 'viem/accounts'
import type { Devnet } from '../../../../src/devnet/index.js'
import { sendBatch } from '../../../../src/devnet/send-batch.js'
import { sameHex } from '../../../../src/protocol/hex.js'
import type { Hex, PaymentPayload } from '../../../../src/protocol/payment.js'
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

const witnessTypes = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
} as const

/** `payload` of a payment, as a wallet signs it. */
async function permitOf(payer: TestPayer, terms: Terms): Promise<PaymentPayload['payload']> {
  const { token, payTo, spender = EXACT_PROXY } = terms
  const message = {
    permitted: { token, amount: terms.amount },
    spender,
    nonce: BigInt(terms.nonce),
    deadline: terms.validBefore,
    witness: { to: payTo, validAfter: terms.validAfter },
  }
  const signature = await privateKeyToAccount(payer.privateKey).signTypedData({
    domain: { name: 'Permit2', chainId: terms.chainId, verifyingContract: PERMIT2 },
    types: witnessTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message,
  })
  const permit2Authorization = {
    from: payer.address,
    permitted: { token, amount: String(terms.amount) },
    spender,
    nonce: String(message.nonce),
    deadline: String(message.deadline),
    witness: { to: payTo, validAfter: String(terms.validAfter) },
  }
  return { signature, permit2Authorization }
}

const spenders: readonly Mutation[] = (
  [
    ['the spender of metered payments', UPTO_PROXY],
    ['Permit2 as spender', PERMIT2],
    ['the payee as spender', undefined],
  ] as const
).map(([name, spender]) => ({
  stage: 'terms',
  name: `signed for ${name}`,
  parts: ['terms.spender'],
  verdict: 'refused',
  change: (terms) => ({ ...terms, spender: spender ?? terms.payTo }),
}))

const isOffered =
  (token: Hex): Kind['takes'] =>
  (entry) =>
    entry.scheme === 'exact' &&
    entry.extra?.['assetTransferMethod'] === 'permit2' &&
    sameHex(entry.asset, token)

/** `exact` by Permit2, which the payer has approved. */
export const permit2: Kind = {
  name: 'permit2',
  asset: { ...DOLLAR, address: PLAIN_TOKEN, symbol: 'PLAIN', decimals: 6 },
  takes: isOffered(PLAIN_TOKEN),
  pay: async (payer, entry, terms) => ({
    x402Version: 2,
    accepted: { ...entry },
    payload: await permitOf(payer, terms),
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
  mutations: spenders,
}

function inPermit(name: string): string {
  return `payload.permit2Authorization.${name}`
}

/** Of `allowance` in OpenZeppelin's ERC-20. */
const ALLOWANCES_SLOT = 1
const slotOf = (key: Hex, mapping: Hex): Hex =>
  keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'bytes32' }], [key, mapping]))

const APPROVAL = 'extensions.eip2612GasSponsoring.info'

/** `exact` by Permit2, with an approval of it that the payer has signed (EIP-2612). */
export const sponsoredPermit2: Kind = {
  name: 'permit2 with a sponsored approval',
  asset: { ...DOLLAR, address: PERMIT_TOKEN, symbol: 'PERMIT', decimals: 18 },
  needsExtensions: true,
  takes: isOffered(PERMIT_TOKEN),
  async pay(payer, entry, terms) {
    const { amount, validBefore: deadline } = terms
    const signature = await privateKeyToAccount(payer.privateKey).signTypedData({
      domain: {
        name: 'Permit Token',
        version: '1',
        chainId: 84532,
        verifyingContract: PERMIT_TOKEN,
      },
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
      message: { owner: payer.address, spender: PERMIT2, value: amount, nonce: 0n, deadline },
    })
    const info = {
      ...{ from: payer.address, asset: PERMIT_TOKEN, spender: PERMIT2, signature, version: '1' },
      ...{ amount: String(amount), nonce: '0', deadline: String(deadline) },
    }
    return {
      x402Version: 2,
      accepted: { ...entry },
      payload: await permitOf(payer, terms),
      extensions: { eip2612GasSponsoring: { info } },
    }
  },
  parts: {
    ...permit2.parts,
    uints: [...permit2.parts.uints, `${APPROVAL}.amount`, `${APPROVAL}.deadline`],
    addresses: [
      ...permit2.parts.addresses,
      ...['from', 'asset', 'spender'].map((name) => `${APPROVAL}.${name}`),
    ],
    signatures: ['payload.signature', `${APPROVAL}.signature`],
  },
  mutations: spenders,
}
