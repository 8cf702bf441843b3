import { describe, expect, it } from '@jest/globals'
import { encodeFunctionData, hashMessage, zeroHash } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { multicall3Abi, smartAccountAbi, usdcAbi } from './abis.js'
import { elsewhereFactoryCode, ownKeyDelegateCode, refusingFactoryCode } from './hostile-code.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { deploy, endlessCode, walletCode } from '../../support/contracts.js'
import { delegate } from '../../support/delegation.js'
import { useDevnet } from '../../support/devnet.js'
import { newPayer } from '../../support/on-chain.js'
import type { TestPayer } from '../../support/sign-payment.js'
import { publicClient } from './clients.js'
import { permit2Of, PRICE } from './permit2.js'
import { type CounterfactualAccount, counterfactualAccount } from './smart-account.js'
import { refusal, tokenOf } from './token.js'

const devnet = useDevnet()
const { approve, balanceOf, pay, relayer, send, sendFrom, settleExact } = permit2Of(devnet)
const { authorization, signAs, transfer } = tokenOf(devnet)
const client = () => publicClient(devnet.rpcUrl)
const codeOf = (address: Hex) => client().getCode({ address })
const create = ({ factory, factoryData }: CounterfactualAccount) =>
  sendFrom(relayer(), factory, factoryData)

/** Deploys an account and moves its USDC in one transaction. */
async function deployAndPay({ address: from, owner, factory, factoryData }: CounterfactualAccount) {
  const message = authorization({ from })
  const { to, value, validAfter, validBefore, nonce } = message
  const payment = encodeFunctionData({
    abi: usdcAbi,
    functionName: 'transferWithAuthorization',
    args: [from, to, value, validAfter, validBefore, nonce, await signAs(owner, message)],
  })
  const calls = [
    { target: factory, allowFailure: true, callData: factoryData },
    { target: devnet.asset, allowFailure: true, callData: payment },
  ]
  const call = {
    address: devnet.multicall3,
    abi: multicall3Abi,
    functionName: 'aggregate3',
    args: [calls],
  } as const
  const { result } = await client().simulateContract({ ...call, account: relayer() })
  await send({ ...call, args: [calls], gas: 1_000_000n })
  return result.map(({ success }) => success)
}

describe('a smart account', () => {
  it('is deployed where its factory says, and stays when asked again', async () => {
    const account = await counterfactualAccount(devnet)
    const { address, owner } = account
    expect(await codeOf(address)).toBeUndefined()
    await create(account)
    const code = await codeOf(address)
    expect(code).toBeDefined()
    expect((await create(account)).status).toBe('success')
    expect(await codeOf(address)).toBe(code)
    const call = { address, abi: smartAccountAbi, functionName: 'owner' } as const
    expect(await client().readContract(call)).toBe(owner.address)
  })

  it('is deployed and pays by ERC-3009 in one transaction, and again afterwards', async () => {
    const account = await counterfactualAccount(devnet)
    expect(await deployAndPay(account)).toEqual([true, true])
    expect(await balanceOf(account.address)).toBe(750_000n)
    const message = authorization({ from: account.address })
    await transfer(message, [await signAs(account.owner, message)])
    expect(await balanceOf(account.address)).toBe(500_000n)
  })

  it('signs as viem verifies it (ERC-6492), and a stranger does not', async () => {
    const { address, owner, wrap } = await counterfactualAccount(devnet)
    const hash = hashMessage('Hello')
    const by = async ({ privateKey }: TestPayer) =>
      wrap(await privateKeyToAccount(privateKey).sign({ hash }))
    const verify = async (signature: Hex) => client().verifyHash({ address, hash, signature })
    expect(await verify(await by(owner))).toBe(true)
    expect(await verify(await by(devnet.payers[1]!))).toBe(false)
  })

  it('approves Permit2 by its owner alone, and pays by the owner’s signature', async () => {
    const account = await counterfactualAccount(devnet)
    const { address, owner } = account
    await create(account)
    const approval = encodeFunctionData({
      abi: usdcAbi,
      functionName: 'approve',
      args: [devnet.permit2, 2n ** 256n - 1n],
    })
    const execute = { address, abi: smartAccountAbi, functionName: 'execute' } as const
    const args = [devnet.asset, 0n, approval] as const
    const data = encodeFunctionData({ ...execute, args })
    expect((await sendFrom(owner.address, address, data)).status).toBe('success')
    await expect(send({ ...execute, args })).rejects.toMatchObject(refusal('NotOwner'))
    const settle = async (signer: TestPayer) =>
      settleExact({ ...(await pay('exact', signer)).settlement, owner: address })
    await expect(settle(devnet.payers[1]!)).rejects.toMatchObject(
      refusal('InvalidContractSignature'),
    )
    await settle(owner)
    expect(await balanceOf(address)).toBe(1_000_000n - PRICE)
  })
})

describe('a hostile factory', () => {
  it('may deploy somewhere else: the account has no code, and nothing moves', async () => {
    const factory = await deploy(devnet, elsewhereFactoryCode)
    const account = await counterfactualAccount(devnet, factory)
    expect(await deployAndPay(account)).toEqual([true, false])
    expect(await codeOf(account.address)).toBeUndefined()
  })

  it('may deploy an account that refuses', async () => {
    const factory = await deploy(devnet, refusingFactoryCode)
    const account = await counterfactualAccount(devnet, factory)
    expect(await deployAndPay(account)).toEqual([true, false])
    expect(await codeOf(account.address)).toBeDefined()
  })

  it('may burn all gas', async () => {
    const factory = await deploy(devnet, endlessCode)
    const call = { account: relayer(), to: factory, gas: 1_000_000n }
    await expect(client().call(call)).rejects.toThrow(/gas/)
  })
})

describe('an account with a key that has delegated (EIP-7702)', () => {
  it('pays by that key where its delegate agrees', async () => {
    const payer = await newPayer(devnet)
    await delegate(devnet, payer, await deploy(devnet, ownKeyDelegateCode))
    const message = authorization({ from: payer.address })
    const stranger = await signAs(devnet.payers[1]!, message)
    await expect(transfer(message, [stranger])).rejects.toMatchObject(
      refusal('ERC3009InvalidSignature'),
    )
    await transfer(message, [await signAs(payer, message)])
    expect(await balanceOf(payer.address)).toBe(750_000n)
  })

  it.each([
    ['refuses', walletCode(zeroHash), refusal('InvalidContractSignature')],
    [
      'burns all gas',
      endlessCode,
      { cause: { name: 'ContractFunctionRevertedError', data: undefined } },
    ],
  ] as const)('pays nothing by Permit2 where its delegate %s', async (_, code, error) => {
    const payer = await newPayer(devnet)
    await approve(payer.address)
    await delegate(devnet, payer, await deploy(devnet, code))
    await expect(settleExact((await pay('exact', payer)).settlement)).rejects.toMatchObject(error)
    expect(await balanceOf(payer.address)).toBe(1_000_000n)
  })
})
