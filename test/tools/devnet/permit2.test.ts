import { beforeAll, describe, expect, it } from '@jest/globals'
import {
  encodeFunctionData,
  getAddress,
  hashDomain,
  parseEventLogs,
  parseSignature,
  serializeCompactSignature,
  signatureToCompactSignature,
  zeroAddress,
  zeroHash,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import {
  exactPermit2ProxyAbi,
  multicall3Abi,
  permit2Abi,
  uptoPermit2ProxyAbi,
  usdcAbi,
} from './abis.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { newPayer } from '../../support/on-chain.js'
import type { TestPayer } from '../../support/sign-payment.js'
import { useDevnet } from '../../support/devnet.js'
import { publicClient } from './clients.js'
import { permit2Of, PRICE, type Settlement, tampered } from './permit2.js'
import { refusal } from './token.js'

const devnet = useDevnet()
const { pay, relayer, send, settleExact, settleUpto, sendFrom, approve, isUsed, balanceOf } =
  permit2Of(devnet)
const client = () => publicClient(devnet.rpcUrl)

/** How Permit2 answers whenever a token refuses. */
const TRANSFER_FAILED = { cause: { reason: 'TRANSFER_FROM_FAILED' } }

let payer: TestPayer
beforeAll(async () => {
  payer = devnet.payers[0]!
  await approve(payer.address)
})

describe('Permit2', () => {
  it('has the EIP-712 domain of the chain, without a version', async () => {
    const { permit2: address } = devnet
    const separator = hashDomain({
      domain: { name: 'Permit2', chainId: 84532n, verifyingContract: address },
      types: {
        EIP712Domain: [
          { name: 'name', type: 'string' },
          { name: 'chainId', type: 'uint256' },
          { name: 'verifyingContract', type: 'address' },
        ],
      },
    })
    const functionName = 'DOMAIN_SEPARATOR'
    expect(await client().readContract({ address, abi: permit2Abi, functionName })).toBe(separator)
  })

  it('lets an owner burn nonces', async () => {
    const functionName = 'invalidateUnorderedNonces'
    const data = encodeFunctionData({ abi: permit2Abi, functionName, args: [7n, 5n] })
    const { logs } = await sendFrom(payer.address, devnet.permit2, data)
    expect(parseEventLogs({ abi: permit2Abi, logs })).toMatchObject([
      { args: { owner: payer.address, word: 7n, mask: 5n } },
    ])
    expect(await isUsed(payer.address, 7n * 256n)).toBe(true)
    expect(await isUsed(payer.address, 7n * 256n + 1n)).toBe(false)
    expect(await isUsed(payer.address, 7n * 256n + 2n)).toBe(true)
  })

  it('transfers without a witness, to the spender that was signed alone', async () => {
    const permitted = { token: devnet.asset, amount: PRICE }
    const message = { permitted, spender: relayer(), nonce: 1n, deadline: 2n ** 40n }
    const signature = await privateKeyToAccount(payer.privateKey).signTypedData({
      domain: { name: 'Permit2', chainId: 84532, verifyingContract: devnet.permit2 },
      types: {
        PermitTransferFrom: [
          { name: 'permitted', type: 'TokenPermissions' },
          { name: 'spender', type: 'address' },
          { name: 'nonce', type: 'uint256' },
          { name: 'deadline', type: 'uint256' },
        ],
        TokenPermissions: [
          { name: 'token', type: 'address' },
          { name: 'amount', type: 'uint256' },
        ],
      },
      primaryType: 'PermitTransferFrom',
      message,
    })
    const call = (requestedAmount: bigint) => ({
      address: devnet.permit2,
      abi: permit2Abi,
      functionName: 'permitTransferFrom',
      args: [message, { to: devnet.merchant.address, requestedAmount }, payer.address, signature],
    })
    await expect(send(call(PRICE + 1n))).rejects.toMatchObject(refusal('InvalidAmount'))
    await expect(send(call(PRICE), 1)).rejects.toMatchObject(refusal('InvalidSigner'))
    const before = await balanceOf(devnet.merchant.address)
    await send(call(PRICE - 1n))
    expect(await balanceOf(devnet.merchant.address)).toBe(before + PRICE - 1n)
    await expect(send(call(PRICE - 1n))).rejects.toMatchObject(refusal('InvalidNonce'))
  })
})

describe('an official client’s `exact` payment by Permit2', () => {
  it.each(['asset', 'permitToken', 'plainToken'] as const)('moves the %s', async (name) => {
    const token = devnet[name]
    await approve(payer.address, token)
    const before = await balanceOf(devnet.merchant.address, token)
    const { settlement, payload } = await pay('exact', payer, { token })
    expect(payload.permit2Authorization.spender).toBe(devnet.exactPermit2Proxy)
    const { logs } = await settleExact(settlement)
    expect(await balanceOf(devnet.merchant.address, token)).toBe(before + PRICE)
    expect(await isUsed(payer.address, settlement.permit.nonce)).toBe(true)
    // Permit2 says nothing, and the proxy not which payment it was.
    expect(logs.map(({ address }) => getAddress(address))).toEqual([
      getAddress(token),
      devnet.exactPermit2Proxy,
    ])
    expect(parseEventLogs({ abi: exactPermit2ProxyAbi, logs })).toMatchObject([
      { eventName: 'Settled' },
    ])
    expect(logs[1]).toMatchObject({ data: '0x', topics: [expect.any(String)] })
  })

  it('takes from the allowance for USDC even when that was all there is, as Circle does', async () => {
    const owner = await newPayer(devnet)
    const everything = 2n ** 256n - 1n
    const allowed = (token: Hex) =>
      client().readContract({
        address: token,
        abi: usdcAbi,
        functionName: 'allowance',
        args: [owner.address, devnet.permit2],
      })
    for (const [token, left] of [
      [devnet.asset, everything - PRICE],
      [devnet.plainToken, everything],
    ] as const) {
      await devnet.mint(owner.address, PRICE, token)
      await approve(owner.address, token)
      await settleExact((await pay('exact', owner, { token })).settlement)
      expect(await allowed(token)).toBe(left)
    }
  })

  it('costs some 100,000 gas', async () => {
    await settleExact((await pay('exact', payer)).settlement)
    const { gasUsed } = await settleExact((await pay('exact', payer)).settlement)
    expect(Number(gasUsed)).toBeGreaterThan(85_000)
    expect(Number(gasUsed)).toBeLessThan(115_000)
  })

  it('may be brought by anybody, once', async () => {
    const { settlement } = await pay('exact', payer)
    await settleExact(settlement)
    await expect(settleExact(settlement)).rejects.toMatchObject(refusal('InvalidNonce'))
  })

  it('has a nonce that counts for all tokens and both proxies', async () => {
    const { settlement, payload } = await pay('exact', payer)
    const { nonce, deadline } = settlement.permit
    await settleExact(settlement)
    const other = await pay('exact', payer, { token: devnet.plainToken })
    await expect(settleExact(tampered(other.settlement, { nonce }))).rejects.toMatchObject(
      refusal('InvalidNonce'),
    )
    const upto = await pay('upto', payer)
    await expect(settleUpto(tampered(upto.settlement, { nonce, deadline }))).rejects.toMatchObject(
      refusal('InvalidNonce'),
    )
    expect(payload.permit2Authorization.nonce).toBe(String(nonce))
  })

  it.each<[string, (settlement: Settlement) => Settlement, string]>([
    ['another payee', (made) => tampered(made, { to: devnet.payers[1]!.address }), 'InvalidSigner'],
    ['no payee', (made) => tampered(made, { to: zeroAddress }), 'InvalidDestination'],
    ['another owner', (made) => ({ ...made, owner: devnet.payers[1]!.address }), 'InvalidSigner'],
    ['no owner', (made) => ({ ...made, owner: zeroAddress }), 'InvalidOwner'],
    [
      'another amount',
      (made) => tampered(made, { permitted: { token: devnet.asset, amount: PRICE + 1n } }),
      'InvalidSigner',
    ],
    [
      'no amount',
      (made) => tampered(made, { permitted: { token: devnet.asset, amount: 0n } }),
      'InvalidAmount',
    ],
    [
      'another token',
      (made) => tampered(made, { permitted: { token: devnet.plainToken, amount: PRICE } }),
      'InvalidSigner',
    ],
    ['another nonce', (made) => tampered(made, { nonce: 2n ** 255n }), 'InvalidSigner'],
    ['a later deadline', (made) => tampered(made, { deadline: 2n ** 40n }), 'InvalidSigner'],
    ['a deadline that is over', (made) => tampered(made, { deadline: 1n }), 'SignatureExpired'],
    ['a later start', (made) => tampered(made, { validAfter: 1n }), 'InvalidSigner'],
    ['a start to come', (made) => tampered(made, { validAfter: 2n ** 40n }), 'PaymentTooEarly'],
    [
      'a signature of 66 bytes',
      (made) => ({ ...made, signature: `${made.signature}00` }),
      'InvalidSignatureLength',
    ],
    [
      'an impossible signature',
      (made) => ({ ...made, signature: `${zeroHash}${zeroHash.slice(2)}1b` }),
      'InvalidSignature',
    ],
  ])('is refused with %s', async (_, change, errorName) => {
    const { settlement } = await pay('exact', payer)
    await expect(settleExact(change(settlement))).rejects.toMatchObject(refusal(errorName))
    expect(await isUsed(payer.address, settlement.permit.nonce)).toBe(false)
    await settleExact(settlement)
  })

  it('is refused by Permit2 when another than the proxy brings it', async () => {
    const { permit, owner, signature } = (await pay('exact', payer)).settlement
    const types = await client().readContract({
      address: devnet.exactPermit2Proxy,
      abi: exactPermit2ProxyAbi,
      functionName: 'WITNESS_TYPE_STRING',
    })
    const details = { to: devnet.merchant.address, requestedAmount: PRICE }
    const brought = send({
      address: devnet.permit2,
      abi: permit2Abi,
      functionName: 'permitWitnessTransferFrom',
      args: [permit, details, owner, zeroHash, types, signature],
    })
    await expect(brought).rejects.toMatchObject(refusal('InvalidSigner'))
  })

  it.each([0, 1])('may have a compact signature (ERC-2098) of parity %d', async (parity) => {
    let settlement: Settlement
    do ({ settlement } = await pay('exact', payer))
    while (parseSignature(settlement.signature).yParity !== parity)
    const signature = serializeCompactSignature(
      signatureToCompactSignature(parseSignature(settlement.signature)),
    )
    expect(signature).toHaveLength(2 + 128)
    await settleExact({ ...settlement, signature })
    expect(await isUsed(payer.address, settlement.permit.nonce)).toBe(true)
  })

  it.each(['no allowance', 'no balance'])(
    'is refused with %s, in words of Permit2',
    async (lack) => {
      const poor = await newPayer(devnet)
      const amount = lack === 'no balance' ? 1_000_001n : 1_000_000n
      if (lack === 'no balance') await approve(poor.address)
      const { settlement } = await pay('exact', poor, { amount })
      await expect(settleExact(settlement)).rejects.toMatchObject(TRANSFER_FAILED)
      expect(await isUsed(poor.address, settlement.permit.nonce)).toBe(false)
    },
  )

  it('succeeds for a token without code, which moves nothing', async () => {
    const { settlement } = await pay('exact', payer, { token: devnet.merchant.address })
    const { logs } = await settleExact(settlement)
    expect(logs).toHaveLength(1)
  })
})

describe('a sponsored approval (EIP-2612)', () => {
  const names = {
    asset: { name: 'USDC', version: '2' },
    permitToken: { name: 'Permit Token', version: '1' },
  } as const

  it.each(['asset', 'permitToken'] as const)(
    'lets an account without gas money pay in the %s',
    async (name) => {
      const token = devnet[name]
      const poor = await newPayer(devnet)
      await devnet.mint(poor.address, 1_000_000n, token)
      const { settlement, approval } = await pay('exact', poor, { token, extra: names[name] })
      const before = await balanceOf(devnet.merchant.address, token)
      const { logs, gasUsed } = await settleExact(settlement, approval)
      expect(await balanceOf(devnet.merchant.address, token)).toBe(before + PRICE)
      expect(await client().getBalance({ address: poor.address })).toBe(0n)
      expect(parseEventLogs({ abi: exactPermit2ProxyAbi, logs })).toMatchObject([
        { eventName: 'SettledWithPermit' },
      ])
      expect(Number(gasUsed)).toBeLessThan(180_000)
      // It was for this payment only.
      const next = await pay('exact', poor, { token, extra: names[name] })
      await expect(settleExact(next.settlement)).rejects.toMatchObject(TRANSFER_FAILED)
    },
  )

  it('pays by `upto`, too', async () => {
    const poor = await newPayer(devnet)
    const { settlement, approval } = await pay('upto', poor, { extra: names.asset })
    await settleUpto({ ...settlement, amount: 7n }, approval)
    expect(await balanceOf(poor.address)).toBe(1_000_000n - 7n)
  })

  it('is refused for another amount', async () => {
    const poor = await newPayer(devnet)
    const { settlement, approval } = await pay('exact', poor, { extra: names.asset })
    const other = { ...approval!, amount: String(PRICE + 1n) }
    await expect(settleExact(settlement, other)).rejects.toMatchObject(
      refusal('Permit2612AmountMismatch'),
    )
  })

  it.each([
    ['asset', 'EIP2612PermitFailedWithReason', { reason: 'EIP2612: invalid signature' }],
    ['permitToken', 'EIP2612PermitFailedWithData', { data: expect.any(String) }],
    ['plainToken', 'EIP2612PermitFailedWithData', { data: '0x' }],
  ] as const)(
    'that the %s refuses matters only without an allowance',
    async (name, event, args) => {
      const token = devnet[name]
      const poor = await newPayer(devnet)
      await devnet.mint(poor.address, 1_000_000n, token)
      const first = await pay('exact', poor, { extra: names.asset })
      const { settlement } = await pay('exact', poor, { token })
      const bad = { ...first.approval!, deadline: String(2n ** 40n) }
      await expect(settleExact(settlement, bad)).rejects.toMatchObject(TRANSFER_FAILED)
      await approve(poor.address, token)
      const { logs } = await settleExact(settlement, bad)
      expect(parseEventLogs({ abi: exactPermit2ProxyAbi, logs })).toMatchObject([
        { eventName: event, args: { token: getAddress(token), owner: poor.address, ...args } },
        { eventName: 'SettledWithPermit' },
      ])
    },
  )
})

describe('an official client’s `upto` payment', () => {
  it('moves what the facilitator says, up to the maximum', async () => {
    const before = await balanceOf(devnet.merchant.address)
    const { settlement, payload } = await pay('upto', payer)
    expect(payload.permit2Authorization.spender).toBe(devnet.uptoPermit2Proxy)
    const { logs, gasUsed } = await settleUpto({ ...settlement, amount: 1n })
    expect(await balanceOf(devnet.merchant.address)).toBe(before + 1n)
    expect(await isUsed(payer.address, settlement.permit.nonce)).toBe(true)
    expect(parseEventLogs({ abi: uptoPermit2ProxyAbi, logs })).toMatchObject([
      { eventName: 'Settled' },
    ])
    expect(Number(gasUsed)).toBeLessThan(140_000)
    await settleUpto((await pay('upto', payer)).settlement)
    expect(await balanceOf(devnet.merchant.address)).toBe(before + 1n + PRICE)
  })

  it.each<[string, (settlement: Settlement) => Settlement, string]>([
    [
      'more than the maximum',
      (made) => ({ ...made, amount: PRICE + 1n }),
      'AmountExceedsPermitted',
    ],
    ['nothing', (made) => ({ ...made, amount: 0n }), 'InvalidAmount'],
    [
      'another facilitator than the sender',
      (made) => tampered(made, { facilitator: relayer(1) }),
      'UnauthorizedFacilitator',
    ],
    ['another payee', (made) => tampered(made, { to: devnet.payers[1]!.address }), 'InvalidSigner'],
  ])('is refused for %s', async (_, change, errorName) => {
    const { settlement } = await pay('upto', payer)
    await expect(settleUpto(change(settlement))).rejects.toMatchObject(refusal(errorName))
  })

  it('is refused for a sender whom the payer has not named', async () => {
    const extra = { facilitatorAddress: relayer(1) }
    const { settlement } = await pay('upto', payer, { extra })
    await expect(settleUpto(settlement)).rejects.toMatchObject(refusal('UnauthorizedFacilitator'))
    const forged = tampered(settlement, { facilitator: relayer() })
    await expect(settleUpto(forged)).rejects.toMatchObject(refusal('InvalidSigner'))
  })

  it('is refused through Multicall3, which is the sender then', async () => {
    const { permit, amount, owner, witness, signature } = (await pay('upto', payer)).settlement
    const callData = encodeFunctionData({
      abi: uptoPermit2ProxyAbi,
      functionName: 'settle',
      args: [permit, amount, owner, witness, signature],
    })
    const { result } = await client().simulateContract({
      address: devnet.multicall3,
      abi: multicall3Abi,
      functionName: 'aggregate3',
      args: [[{ target: devnet.uptoPermit2Proxy, allowFailure: true, callData }]],
      account: relayer(),
    })
    // UnauthorizedFacilitator()
    expect(result).toMatchObject([
      { success: false, returnData: expect.stringMatching(/^0x.{8}$/) },
    ])
    expect(await isUsed(owner, permit.nonce)).toBe(false)
  })
})
