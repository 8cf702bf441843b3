import { afterEach, describe, expect, it } from '@jest/globals'
import { encodeFunctionData, pad, parseEventLogs } from 'viem'
import { usdcAbi } from './abis.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { deploy, fakeTokenCode } from '../../support/contracts.js'
import { askNode } from '../../support/core.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { newPayer, operate, sendAs } from '../../support/on-chain.js'
import { publicClient } from './clients.js'
import { IMPLEMENTATION_SLOT, overloads, refusal, tokenOf } from './token.js'

/** Gas of USDC's own `transferWithAuthorization`, from the second payment of a payer to a merchant on. */
const CIRCLES_GAS = 85_700

/** Runtime code that answers every call with ERC-1271's magic value. */
const YES_WALLET: Hex = `0x${'7f1626ba7e'.padEnd(66, '0')}60005260206000f3`
/** Runtime code that answers every call with zero. */
const NO_WALLET: Hex = '0x60206000f3'

const devnet = useDevnet()
const { authorization, sign, transfer, implementation } = tokenOf(devnet)
const client = () => publicClient(devnet.rpcUrl)
const asset = () => ({ address: devnet.asset, abi: usdcAbi }) as const
const [[, asVrs]] = overloads
const isBlacklisted = (account: Hex): Promise<boolean> =>
  client().readContract({ ...asset(), functionName: 'isBlacklisted', args: [account] })
const isPaused = (): Promise<boolean> =>
  client().readContract({ ...asset(), functionName: 'paused' })

async function eventsOf(transaction: Hex) {
  const { logs } = await client().getTransactionReceipt({ hash: transaction })
  return parseEventLogs({ abi: usdcAbi, logs })
}

describe("the token's proxy", () => {
  it('runs the code at the address in its ERC-1967 slot', async () => {
    const { asset: proxy } = devnet
    const kept = await implementation()
    expect(kept).not.toBe(proxy)
    const other = await deploy(devnet, fakeTokenCode('transfer'))
    const upgradeTo = (code: Hex) =>
      askNode(devnet, 'anvil_setStorageAt', proxy, IMPLEMENTATION_SLOT, pad(code))
    await upgradeTo(other)
    await expect(isPaused()).rejects.toMatchObject({ name: 'ContractFunctionExecutionError' })
    await upgradeTo(kept)
    expect(await isPaused()).toBe(false)
  })

  it("keeps balances as its own: the implementation's storage has none", async () => {
    const address = await implementation()
    const [payer] = devnet.payers
    expect(await balanceOf(devnet, payer!.address)).toBeGreaterThan(0n)
    expect(
      await client().readContract({
        address,
        abi: usdcAbi,
        functionName: 'balanceOf',
        args: [payer!.address],
      }),
    ).toBe(0n)
  })
})

describe.each(overloads)('gas of transferWithAuthorization(…, %s)', (_, prove) => {
  it("is near that of Circle's", async () => {
    const pay = async () => {
      const message = authorization()
      return transfer(message, prove(await sign(message)))
    }
    await pay()
    const { gasUsed } = await pay()
    expect(Number(gasUsed)).toBeGreaterThan(CIRCLES_GAS - 10_000)
    expect(Number(gasUsed)).toBeLessThan(CIRCLES_GAS + 5000)
  })
})

describe.each(overloads)('transferWithAuthorization(…, %s) of a contract account', (_, prove) => {
  /** Its key has signed; that must not matter. */
  async function payFrom(code: Hex) {
    const wallet = await deploy(devnet, code)
    await devnet.mint(wallet, 250_000n)
    const message = authorization({ from: wallet })
    return { wallet, paid: transfer(message, prove(await sign(message))) }
  }

  it('asks the account (ERC-1271) and accepts its yes', async () => {
    const { wallet, paid } = await payFrom(YES_WALLET)
    await paid
    expect(await balanceOf(devnet, wallet)).toBe(0n)
  })

  it('refuses when the account does not say yes', async () => {
    const { wallet, paid } = await payFrom(NO_WALLET)
    await expect(paid).rejects.toMatchObject(refusal('ERC3009InvalidSignature'))
    expect(await balanceOf(devnet, wallet)).toBe(250_000n)
  })

  it('asks the account even if its address also has a key (EIP-7702)', async () => {
    const payer = devnet.payers[9]!
    const message = authorization({ from: payer.address })
    const proof = prove(await sign(message, { payer: 9 }))
    await askNode(devnet, 'anvil_setCode', payer.address, NO_WALLET)
    await expect(transfer(message, proof)).rejects.toMatchObject(refusal('ERC3009InvalidSignature'))
    await askNode(devnet, 'anvil_setCode', payer.address, '0x')
    expect((await transfer(message, proof)).status).toBe('success')
  })
})

describe('a token that is paused', () => {
  afterEach(async () => {
    if (await isPaused()) await operate(devnet, 'unpause')
  })

  it.each(overloads)(
    'refuses an authorization (%s), and accepts it afterwards',
    async (_, prove) => {
      const message = authorization()
      const proof = prove(await sign(message))
      expect(await isPaused()).toBe(false)
      expect(await eventsOf(await operate(devnet, 'pause'))).toMatchObject([
        { eventName: 'Paused' },
      ])
      expect(await isPaused()).toBe(true)
      await expect(transfer(message, proof)).rejects.toMatchObject(refusal('EnforcedPause'))
      expect(await eventsOf(await operate(devnet, 'unpause'))).toMatchObject([
        { eventName: 'Unpaused' },
      ])
      expect((await transfer(message, proof)).status).toBe('success')
    },
  )

  it('can still be read, and mints nothing', async () => {
    const [payer] = devnet.payers
    const before = await balanceOf(devnet, payer!.address)
    await operate(devnet, 'pause')
    await expect(devnet.mint(payer!.address, 1n)).rejects.toThrow('refused a transaction')
    expect(await balanceOf(devnet, payer!.address)).toBe(before)
  })
})

describe('an account on the blacklist', () => {
  const blacklisted = 'Blacklistable: account is blacklisted'

  it.each(overloads)('cannot pay by authorization (%s) until it is removed', async (_, prove) => {
    const message = authorization()
    const proof = prove(await sign(message))
    const account = message.from
    expect(await isBlacklisted(account)).toBe(false)
    expect(await eventsOf(await operate(devnet, 'blacklist', account))).toMatchObject([
      { eventName: 'Blacklisted', args: { _account: account } },
    ])
    expect(await isBlacklisted(account)).toBe(true)
    await expect(transfer(message, proof)).rejects.toThrow(blacklisted)
    expect(await eventsOf(await operate(devnet, 'unBlacklist', account))).toMatchObject([
      { eventName: 'UnBlacklisted', args: { _account: account } },
    ])
    expect(await isBlacklisted(account)).toBe(false)
    expect((await transfer(message, proof)).status).toBe('success')
  })

  it('cannot be paid either, while others pay each other', async () => {
    const { address: to } = await newPayer(devnet)
    await operate(devnet, 'blacklist', to)
    const refused = authorization({ to })
    await expect(transfer(refused, asVrs(await sign(refused)))).rejects.toThrow(blacklisted)
    const fine = authorization()
    expect((await transfer(fine, asVrs(await sign(fine)))).status).toBe('success')
  })

  it('cannot transfer by itself', async () => {
    const payer = await newPayer(devnet)
    await operate(devnet, 'blacklist', payer.address)
    const args = [devnet.merchant.address, 1n] as const
    const data = encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args })
    const transaction = await sendAs(devnet, payer.address, data)
    await devnet.mine()
    expect(await client().getTransactionReceipt({ hash: transaction })).toMatchObject({
      status: 'reverted',
    })
    expect(await balanceOf(devnet, payer.address)).toBe(1_000_000n)
  })
})
