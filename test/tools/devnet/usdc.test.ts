import { describe, expect, it } from '@jest/globals'
import { hashDomain, parseEventLogs } from 'viem'
import { usdcAbi } from './abis.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { askNode } from '../../support/core.js'
import { balanceOf as tokenBalanceOf, useDevnet } from '../../support/devnet.js'
import { publicClient } from './clients.js'
import { overloads, refusal, tokenOf } from './token.js'

const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const

const devnet = useDevnet()
const { authorization, domain, sign, transfer, implementation } = tokenOf(devnet)

const read = (functionName: 'name' | 'symbol' | 'decimals' | 'version' | 'DOMAIN_SEPARATOR') =>
  publicClient(devnet.rpcUrl).readContract({ address: devnet.asset, abi: usdcAbi, functionName })

const balanceOf = (address: Hex): Promise<bigint> => tokenBalanceOf(devnet, address)

describe('the token', () => {
  it("presents itself as Base Sepolia's USDC", async () => {
    expect(await read('name')).toBe('USDC')
    expect(await read('symbol')).toBe('USDC')
    expect(await read('decimals')).toBe(6)
    expect(await read('version')).toBe('2')
  })

  it('has the EIP-712 domain that official clients sign for', async () => {
    const separator = hashDomain({
      domain: { ...domain(), chainId: BigInt(devnet.chainId) },
      types: { EIP712Domain: [...DOMAIN_TYPE] },
    })
    expect(await read('DOMAIN_SEPARATOR')).toBe(separator)
    // Remembered in the code, as a constructor there would have done: the gas is that of a deployment.
    const code = await publicClient(devnet.rpcUrl).getCode({ address: await implementation() })
    expect(code).toContain(separator.slice(2))
    const { domain: told } = await publicClient(devnet.rpcUrl).getEip712Domain({
      address: devnet.asset,
    })
    expect(told).toMatchObject(domain())
  })

  it('computes its domain anew if its code is at another address', async () => {
    const elsewhere = '0x00000000000000000000000000000000000000c0'
    const client = publicClient(devnet.rpcUrl)
    const code = await client.getCode({ address: await implementation() })
    await askNode(devnet, 'anvil_setCode', elsewhere, code)
    const separator = await client.readContract({
      address: elsewhere,
      abi: usdcAbi,
      functionName: 'DOMAIN_SEPARATOR',
    })
    expect(separator).toBe(
      hashDomain({
        domain: { ...domain(), chainId: BigInt(devnet.chainId), verifyingContract: elsewhere },
        types: { EIP712Domain: [...DOMAIN_TYPE] },
      }),
    )
  })
})

describe.each(overloads)('transferWithAuthorization(…, %s)', (_, prove) => {
  it('moves the money when a relayer sends it', async () => {
    const message = authorization()
    const [payer, merchant] = [await balanceOf(message.from), await balanceOf(message.to)]
    const receipt = await transfer(message, prove(await sign(message)))
    expect(receipt.status).toBe('success')
    expect(await balanceOf(message.from)).toBe(payer - message.value)
    expect(await balanceOf(message.to)).toBe(merchant + message.value)
    expect(parseEventLogs({ abi: usdcAbi, logs: receipt.logs })).toMatchObject([
      { eventName: 'AuthorizationUsed', args: { authorizer: message.from, nonce: message.nonce } },
      {
        eventName: 'Transfer',
        args: { from: message.from, to: message.to, value: message.value },
      },
    ])
  })

  it('refuses a second use', async () => {
    const message = authorization()
    const proof = prove(await sign(message))
    await transfer(message, proof)
    await expect(transfer(message, proof)).rejects.toMatchObject(
      refusal('ERC3009UsedAuthorization'),
    )
  })

  it('refuses the signature of another account', async () => {
    const message = authorization()
    const proof = prove(await sign(message, { payer: 1 }))
    await expect(transfer(message, proof)).rejects.toMatchObject(refusal('ERC3009InvalidSignature'))
  })

  it('refuses another value than was signed', async () => {
    const message = authorization()
    const proof = prove(await sign(message))
    await expect(transfer({ ...message, value: 250_001n }, proof)).rejects.toMatchObject(
      refusal('ERC3009InvalidSignature'),
    )
  })

  it.each([{ name: 'USD Coin' }, { version: '1' }, { chainId: 8453 }])(
    'refuses a signature for another domain: %o',
    async (domainChange) => {
      const message = authorization()
      const proof = prove(await sign(message, { domainChange }))
      await expect(transfer(message, proof)).rejects.toMatchObject(
        refusal('ERC3009InvalidSignature'),
      )
    },
  )

  it.each([{ validAfter: 2n ** 39n }, { validBefore: 1n }])(
    'refuses outside the time window: %o',
    async (change) => {
      const message = authorization(change)
      const proof = prove(await sign(message))
      await expect(transfer(message, proof)).rejects.toMatchObject(
        refusal('ERC3009InvalidAuthorizationTime'),
      )
    },
  )

  it('refuses more than the payer has', async () => {
    const message = { ...authorization(), value: 10n ** 13n }
    const proof = prove(await sign(message))
    await expect(transfer(message, proof)).rejects.toMatchObject(
      refusal('ERC20InsufficientBalance'),
    )
  })
})
