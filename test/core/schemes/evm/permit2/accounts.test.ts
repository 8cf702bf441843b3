import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { encodeFunctionData, maxUint256 } from 'viem'
import type { Hex, PaymentPayload } from '../../../../../src/shared/protocol/payment.js'
import { plainTokenAbi } from '../../../../tools/devnet/abis.js'
import { counterfactualAccount } from '../../../../tools/devnet/smart-account.js'
import { openCore, type Core } from '../../../../support/core.js'
import { useDevnet } from '../../../../support/devnet.js'
import { permit2On } from '../../../../support/permit2.js'
import { signPermit } from '../../../../support/sign-permit.js'

const devnet = useDevnet()
const { balanceOf, offer, sendFrom, terms } = permit2On(devnet)

let core: Core
beforeEach(() => {
  core = openCore(devnet)
})
afterEach(() => core.close())

/** A smart account that lets Permit2 take its tokens. */
async function account(isDeployed: boolean) {
  const made = await counterfactualAccount(devnet)
  // An account that has sent something can no longer be deployed.
  if (isDeployed) await sendFrom(devnet.merchant.address, made.factory, made.factoryData)
  const args = [devnet.permit2, maxUint256] as const
  const data = encodeFunctionData({ abi: plainTokenAbi, functionName: 'approve', args })
  await sendFrom(made.address, devnet.asset, data)
  return made
}

function withSignature(payment: PaymentPayload, change: (signature: Hex) => Hex): PaymentPayload {
  const signature = change(payment.payload['signature'] as Hex)
  return { ...payment, payload: { ...payment.payload, signature } }
}

describe('a smart account that pays by Permit2', () => {
  it('signs by ERC-1271, wrapped or not', async () => {
    const { owner, address, wrap } = await account(true)
    const before = await balanceOf(address)
    for (const change of [(signature: Hex) => signature, wrap]) {
      const payment = withSignature(await signPermit(owner, offer(), { from: address }), change)
      expect(await core.facilitator.verify(payment, offer(), terms())).toMatchObject({
        isValid: true,
      })
      expect(await core.facilitator.settle(payment, offer(), terms())).toMatchObject({
        success: true,
      })
    }
    expect(before - (await balanceOf(address))).toBe(20_000n)
  })

  it('is refused where another has signed', async () => {
    const { address } = await account(true)
    const payment = await signPermit(devnet.payers[1]!, offer(), { from: address })
    expect(await core.facilitator.verify(payment, offer(), terms())).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_permit2_signature',
    })
  })

  it('is refused before it is deployed', async () => {
    const { owner, address, wrap } = await account(false)
    const payment = withSignature(await signPermit(owner, offer(), { from: address }), wrap)
    expect(await core.facilitator.verify(payment, offer(), terms())).toMatchObject({
      isValid: false,
      invalidReason: 'eip6492_factory_not_allowed',
    })
  })

  it('is refused where another key has signed for an account without code', async () => {
    const payment = await signPermit(devnet.payers[1]!, offer(), {
      from: devnet.payers[2]!.address,
    })
    expect(await core.facilitator.verify(payment, offer(), terms())).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_permit2_signature',
    })
  })
})
