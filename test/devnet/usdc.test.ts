import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Hex, hashDomain, parseEventLogs, parseSignature, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { usdcAbi } from '../../src/devnet/artifacts.js'
import { type Devnet, startDevnet } from '../../src/devnet/index.js'
import { publicClient, walletClient } from './clients.js'

const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const

/** Runtime code that answers every call with ERC-1271's magic value. */
const YES_WALLET = `0x${'7f1626ba7e'.padEnd(66, '0')}60005260206000f3` as Hex
/** Runtime code that answers every call with zero. */
const NO_WALLET = '0x60206000f3' as Hex

let devnet: Devnet
let nonces = 0n
beforeAll(async () => {
  devnet = await startDevnet()
})
afterAll(() => devnet.close())

type Message = ReturnType<typeof authorization>

function authorization(change: { from?: Hex; validAfter?: bigint; validBefore?: bigint } = {}) {
  return {
    from: devnet.payers[0]!.address,
    to: devnet.merchant.address,
    value: 250_000n,
    validAfter: 0n,
    validBefore: 2n ** 40n,
    nonce: toHex(++nonces, { size: 32 }),
    ...change,
  }
}

function domain(change: { name?: string; version?: string; chainId?: number } = {}) {
  return {
    name: 'USDC',
    version: '2',
    chainId: devnet.chainId,
    verifyingContract: devnet.asset,
    ...change,
  }
}

function sign(message: Message, { payer = 0, domainChange = {} } = {}): Promise<Hex> {
  return privateKeyToAccount(devnet.payers[payer]!.privateKey).signTypedData({
    domain: domain(domainChange),
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message,
  })
}

/** The two overloads: how each takes the signature. */
const overloads = [
  [
    'v, r, s',
    (signature: Hex) => {
      const { r, s, yParity } = parseSignature(signature)
      return [27 + yParity, r, s] as const
    },
  ],
  ['bytes signature', (signature: Hex) => [signature] as const],
] as const

async function transfer(
  { from, to, value, validAfter, validBefore, nonce }: Message,
  proof: readonly [number, Hex, Hex] | readonly [Hex],
) {
  const client = publicClient(devnet.rpcUrl)
  const { request } = await client.simulateContract({
    account: privateKeyToAccount(devnet.relayerKeys[0]!),
    address: devnet.asset,
    abi: usdcAbi,
    functionName: 'transferWithAuthorization',
    args: [from, to, value, validAfter, validBefore, nonce, ...proof],
  })
  const hash = await walletClient(devnet.rpcUrl, devnet.relayerKeys[0]!).writeContract(request)
  return client.waitForTransactionReceipt({ hash })
}

const refusal = (errorName: string) => ({ cause: { data: { errorName } } })

const read = (functionName: 'name' | 'symbol' | 'decimals' | 'version' | 'DOMAIN_SEPARATOR') =>
  publicClient(devnet.rpcUrl).readContract({ address: devnet.asset, abi: usdcAbi, functionName })

const balanceOf = (address: Hex) =>
  publicClient(devnet.rpcUrl).readContract({
    address: devnet.asset,
    abi: usdcAbi,
    functionName: 'balanceOf',
    args: [address],
  })

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
    expect(await publicClient(devnet.rpcUrl).getCode({ address: devnet.asset })).toContain(
      separator.slice(2),
    )
    const { domain: told } = await publicClient(devnet.rpcUrl).getEip712Domain({
      address: devnet.asset,
    })
    expect(told).toMatchObject(domain())
  })

  it('computes its domain anew where its code is placed elsewhere', async () => {
    const elsewhere = '0x00000000000000000000000000000000000000c0'
    const client = publicClient(devnet.rpcUrl)
    await setCode(elsewhere, (await client.getCode({ address: devnet.asset }))!)
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
  it('moves the money when a relayer brings it', async () => {
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

  it('refuses the signature of another', async () => {
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

describe('transferWithAuthorization(…, bytes signature) of a contract account', () => {
  const wallet = '0x00000000000000000000000000000000000000e1'

  it('asks the account (ERC-1271) and accepts its yes', async () => {
    await setCode(wallet, YES_WALLET)
    await devnet.mint(wallet, 250_000n)
    await transfer(authorization({ from: wallet }), ['0x1234'])
    expect(await balanceOf(wallet)).toBe(0n)
  })

  it('refuses when the account does not say yes', async () => {
    await setCode(wallet, NO_WALLET)
    await devnet.mint(wallet, 250_000n)
    await expect(transfer(authorization({ from: wallet }), ['0x1234'])).rejects.toMatchObject(
      refusal('ERC3009InvalidSignature'),
    )
  })
})

async function setCode(address: Hex, code: Hex): Promise<void> {
  await publicClient(devnet.rpcUrl).request<{
    Method: 'anvil_setCode'
    Parameters: [Hex, Hex]
    ReturnType: null
  }>({ method: 'anvil_setCode', params: [address, code] })
}
