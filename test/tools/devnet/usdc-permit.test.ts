import { describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import { usdcAbi } from './abis.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { useDevnet } from '../../support/devnet.js'
import { newPayer, operate } from '../../support/on-chain.js'
import { transferTypes } from '../../support/sign-payment.js'
import { publicClient } from './clients.js'
import { permit2Of } from './permit2.js'
import { overloads, refusal, tokenOf } from './token.js'

const devnet = useDevnet()
const { balanceOf, relayer, send } = permit2Of(devnet)
const { authorization, domain, sign, transfer } = tokenOf(devnet)
const client = () => publicClient(devnet.rpcUrl)
const asset = () => ({ address: devnet.asset, abi: usdcAbi }) as const
const SPENDER: Hex = '0x00000000000000000000000000000000000000b1'

const permitTypes = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const

const allowance = (owner: Hex) =>
  client().readContract({ ...asset(), functionName: 'allowance', args: [owner, SPENDER] })
const nonceOf = (owner: Hex) =>
  client().readContract({ ...asset(), functionName: 'nonces', args: [owner] })

describe.each(overloads)('permit(…, %s)', (_, prove) => {
  async function permit(change: { deadline?: bigint; nonce?: bigint } = {}) {
    const owner = await newPayer(devnet)
    const message = {
      owner: owner.address,
      spender: SPENDER,
      value: 7n,
      nonce: 0n,
      deadline: 2n ** 40n,
      ...change,
    }
    const signature = await privateKeyToAccount(owner.privateKey).signTypedData({
      domain: domain(),
      types: permitTypes,
      primaryType: 'Permit',
      message,
    })
    const args = [owner.address, SPENDER, 7n, message.deadline, ...prove(signature)]
    return { owner, call: { ...asset(), functionName: 'permit', args } }
  }

  it('allows what was signed, once', async () => {
    const { owner, call } = await permit()
    expect(await nonceOf(owner.address)).toBe(0n)
    await send(call)
    expect(await allowance(owner.address)).toBe(7n)
    expect(await nonceOf(owner.address)).toBe(1n)
    await expect(send(call)).rejects.toMatchObject({
      cause: { reason: 'EIP2612: invalid signature' },
    })
  })

  it.each([
    ['whose deadline is over', { deadline: 1n }, 'FiatTokenV2: permit is expired'],
    ['for another nonce', { nonce: 1n }, 'EIP2612: invalid signature'],
  ])('refuses one %s', async (__, change, reason) => {
    const { owner, call } = await permit(change)
    await expect(send(call)).rejects.toMatchObject({ cause: { reason } })
    expect(await allowance(owner.address)).toBe(0n)
  })

  it('refuses one of an account on the blacklist, and any while the token is paused', async () => {
    const { owner, call } = await permit()
    await operate(devnet, 'blacklist', owner.address)
    await expect(send(call)).rejects.toMatchObject({
      cause: { reason: 'Blacklistable: account is blacklisted' },
    })
    await operate(devnet, 'unBlacklist', owner.address)
    await operate(devnet, 'pause')
    await expect(send(call)).rejects.toMatchObject(refusal('EnforcedPause'))
    await operate(devnet, 'unpause')
    await send(call)
  })
})

describe.each(overloads)('receiveWithAuthorization(…, %s)', (_, prove) => {
  async function receive(to: Hex) {
    const message = authorization({ to })
    const signature = await privateKeyToAccount(devnet.payers[0]!.privateKey).signTypedData({
      domain: domain(),
      types: { ReceiveWithAuthorization: transferTypes.TransferWithAuthorization },
      primaryType: 'ReceiveWithAuthorization',
      message,
    })
    const { from, value, validAfter, validBefore, nonce } = message
    const args = [from, to, value, validAfter, validBefore, nonce, ...prove(signature)]
    return {
      message,
      signature,
      call: { ...asset(), functionName: 'receiveWithAuthorization', args },
    }
  }

  it('moves money to its caller', async () => {
    const before = await balanceOf(relayer())
    const { call, message, signature } = await receive(relayer())
    // It is no authorization for others to bring.
    await expect(transfer(message, [signature])).rejects.toMatchObject(
      refusal('ERC3009InvalidSignature'),
    )
    await send(call)
    expect(await balanceOf(relayer())).toBe(before + 250_000n)
    await expect(send(call)).rejects.toMatchObject(refusal('ERC3009UsedAuthorization'))
  })

  it('refuses to move it to another', async () => {
    const { call } = await receive(devnet.merchant.address)
    await expect(send(call)).rejects.toMatchObject({
      cause: { reason: 'FiatTokenV2: caller must be the payee' },
    })
  })

  it('refuses an authorization of the other kind', async () => {
    const message = authorization({ to: relayer() })
    const { from, to, value, validAfter, validBefore, nonce } = message
    const proof = prove(await sign(message))
    const args = [from, to, value, validAfter, validBefore, nonce, ...proof]
    const call = { ...asset(), functionName: 'receiveWithAuthorization', args }
    await expect(send(call)).rejects.toMatchObject(refusal('ERC3009InvalidSignature'))
  })
})

describe.each(overloads)('cancelAuthorization(…, %s)', (_, prove) => {
  it('takes an authorization back', async () => {
    const message = authorization()
    const { from: authorizer, nonce } = message
    const cancelBy = async (index: number) => {
      const signature = await privateKeyToAccount(devnet.payers[index]!.privateKey).signTypedData({
        domain: domain(),
        types: {
          CancelAuthorization: [
            { name: 'authorizer', type: 'address' },
            { name: 'nonce', type: 'bytes32' },
          ],
        },
        primaryType: 'CancelAuthorization',
        message: { authorizer, nonce },
      })
      const args = [authorizer, nonce, ...prove(signature)]
      return send({ ...asset(), functionName: 'cancelAuthorization', args })
    }
    await expect(cancelBy(1)).rejects.toMatchObject(refusal('ERC3009InvalidSignature'))
    await cancelBy(0)
    await expect(transfer(message, prove(await sign(message)))).rejects.toMatchObject(
      refusal('ERC3009UsedAuthorization'),
    )
  })
})
