import { describe, expect, it } from '@jest/globals'
import { type Abi, encodeFunctionData, hashTypedData } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { readSettleCall, settleCall } from '../../../../../src/core/schemes/evm/permit2/calls.js'
import {
  EXACT_SPENDER,
  permit2Separator,
  type Spender,
  UPTO_SPENDER,
} from '../../../../../src/core/schemes/evm/permit2/contracts.js'
import { permitDigest } from '../../../../../src/core/schemes/evm/permit2/digest.js'
import { readPermit } from '../../../../../src/core/schemes/evm/permit2/payload.js'
import { exactPermit2ProxyAbi, uptoPermit2ProxyAbi } from '../../../../tools/devnet/abis.js'

const account = privateKeyToAccount(`0x${'7c'.repeat(32)}`)
const token = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
const payTo = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
const facilitator = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const domain = {
  name: 'Permit2',
  chainId: 84_532,
  verifyingContract: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
} as const

const types = (witness: readonly { name: string; type: string }[]) => ({
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
  Witness: witness,
})

interface Kind {
  readonly by: Spender
  readonly abi: Abi
  readonly witness: readonly { readonly name: string; readonly type: string }[]
}

const to = { name: 'to', type: 'address' }
const validAfter = { name: 'validAfter', type: 'uint256' }

const kinds: readonly Kind[] = [
  { by: EXACT_SPENDER, abi: exactPermit2ProxyAbi, witness: [to, validAfter] },
  {
    by: UPTO_SPENDER,
    abi: uptoPermit2ProxyAbi,
    witness: [to, { name: 'facilitator', type: 'address' }, validAfter],
  },
]

const approvalSignature = `0x${'11'.repeat(32)}${'22'.repeat(32)}1b`

function payloadOf(spender: string, nonce: string) {
  return {
    signature: `0x${'ab'.repeat(65)}`,
    permit2Authorization: {
      from: account.address,
      permitted: { token, amount: '10000' },
      spender,
      nonce,
      deadline: '1793900000',
      witness: { to: payTo, facilitator, validAfter: '7' },
    },
  }
}

const extensions = {
  eip2612GasSponsoring: {
    info: {
      from: account.address,
      asset: token,
      spender: domain.verifyingContract,
      amount: '10000',
      nonce: '0',
      deadline: '1793900000',
      signature: approvalSignature,
      version: '1',
    },
  },
}

function read(payload: unknown, sent?: unknown) {
  const parsed = readPermit(payload, sent)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
  return parsed.value
}

describe('permits of Permit2', () => {
  it.each(kinds)('are hashed as EIP-712 has it: %#', ({ by, witness }) => {
    const facts = read(payloadOf(by.address, '33'))
    const expected = hashTypedData({
      domain,
      types: types(witness),
      primaryType: 'PermitWitnessTransferFrom',
      message: {
        permitted: { token, amount: 10_000n },
        spender: by.address,
        nonce: 33n,
        deadline: 1_793_900_000n,
        witness: { to: payTo, facilitator, validAfter: 7n },
      },
    })
    expect(permitDigest(facts, permit2Separator(84_532))).toBe(expected)
  })

  it.each(kinds.flatMap((kind) => [false, true].map((isApproved) => ({ ...kind, isApproved }))))(
    'are encoded as the ABI has it, and read back: %#',
    ({ by, abi, isApproved }) => {
      const facts = read(payloadOf(by.address, '0x21'), isApproved ? extensions : undefined)
      const signature = { r: `0x${'33'.repeat(32)}`, s: `0x${'44'.repeat(32)}`, v: 28 } as const
      const call = settleCall({ facts, signature, amount: 900n })
      const permit2612 = {
        value: 10_000n,
        deadline: 1_793_900_000n,
        r: `0x${'11'.repeat(32)}`,
        s: `0x${'22'.repeat(32)}`,
        v: 27,
      }
      const args = [
        ...(isApproved ? [permit2612] : []),
        { permitted: { token, amount: 10_000n }, nonce: 33n, deadline: 1_793_900_000n },
        ...(by.isMetered ? [900n] : []),
        account.address,
        { to: payTo, facilitator, validAfter: 7n },
        `0x${'33'.repeat(32)}${'44'.repeat(32)}1c`,
      ]
      const functionName = isApproved ? 'settleWithPermit' : 'settle'
      const data = encodeFunctionData({ abi, functionName, args })
      expect(call).toEqual({ to: by.address, data })
      expect(readSettleCall(call)).toEqual({
        spender: by,
        token: token.toLowerCase(),
        amount: by.isMetered ? 900n : 10_000n,
        nonce: facts.nonce,
        payer: facts.payer,
        payee: payTo.toLowerCase(),
        facilitator: by.isMetered ? facilitator.toLowerCase() : undefined,
      })
    },
  )

  it.each([
    ['33', 33n],
    ['0x21', 33n],
    ['0x00021', 33n],
    [`0x${'f'.repeat(64)}`, 2n ** 256n - 1n],
    [String(2n ** 256n - 1n), 2n ** 256n - 1n],
  ])('take the nonce %s', (nonce, value) => {
    const facts = read(payloadOf(EXACT_SPENDER.address, nonce))
    expect(facts.nonce).toBe(`0x${value.toString(16).padStart(64, '0')}`)
  })

  it.each(['033', '-1', '0x', '', ' 1', '1e3', `0x1${'0'.repeat(64)}`, String(2n ** 256n), '٣'])(
    'do not take the nonce %j',
    (nonce) => {
      expect(readPermit(payloadOf(EXACT_SPENDER.address, nonce))).toMatchObject({
        ok: false,
        errors: [{ path: 'permit2Authorization.nonce' }],
      })
    },
  )
})
