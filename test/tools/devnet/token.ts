import { getAddress, keccak256, numberToHex, parseSignature, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { usdcAbi } from './abis.js'
import type { Devnet } from '../../../src/tools/devnet/index.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { newNonce, type TestPayer, transferTypes } from '../../support/sign-payment.js'
import { publicClient, walletClient } from './clients.js'

/** An ERC-3009 authorization. */
export interface Message {
  readonly from: Hex
  readonly to: Hex
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: Hex
}

/** A signature as one of the overloads takes it. */
type Proof = readonly [number, Hex, Hex] | readonly [Hex]

/** The two overloads of `transferWithAuthorization`: how each takes a signature. */
export const overloads = [
  [
    'v, r, s',
    (signature: Hex): Proof => {
      const { r, s, yParity } = parseSignature(signature)
      return [27 + yParity, r, s]
    },
  ],
  ['bytes signature', (signature: Hex): Proof => [signature]],
] as const

/** Where a proxy keeps the address of its implementation (ERC-1967). */
export const IMPLEMENTATION_SLOT = numberToHex(
  BigInt(keccak256(toHex('eip1967.proxy.implementation'))) - 1n,
)

/** How viem tells of a revert with an error of the token's. */
export const refusal = (errorName: string) => ({ cause: { data: { errorName } } })

/** What payers, relayers and tests do with a devnet's token. */
export function tokenOf(devnet: Devnet) {
  const client = () => publicClient(devnet.rpcUrl)

  /** A quarter of a USDC from the first payer to the merchant, or as told. */
  const authorization = (change: Partial<Message> = {}): Message => ({
    from: devnet.payers[0]!.address,
    to: devnet.merchant.address,
    value: 250_000n,
    validAfter: 0n,
    validBefore: 2n ** 40n,
    nonce: newNonce(),
    ...change,
  })

  /** The EIP-712 domain that official clients sign for, or another. */
  const domain = (change: { name?: string; version?: string; chainId?: number } = {}) => ({
    name: 'USDC',
    version: '2',
    chainId: devnet.chainId,
    verifyingContract: devnet.asset,
    ...change,
  })

  const signAs = ({ privateKey }: TestPayer, message: Message, domainChange = {}): Promise<Hex> =>
    privateKeyToAccount(privateKey).signTypedData({
      domain: domain(domainChange),
      types: transferTypes,
      primaryType: 'TransferWithAuthorization',
      message,
    })

  const sign = (message: Message, { payer = 0, domainChange = {} } = {}): Promise<Hex> =>
    signAs(devnet.payers[payer]!, message, domainChange)

  /** Has a relayer bring an authorization; rejects when the token refuses it. */
  const transfer = async (message: Message, proof: Proof) => {
    const { from, to, value, validAfter, validBefore, nonce } = message
    const { request } = await client().simulateContract({
      account: privateKeyToAccount(devnet.relayerKeys[0]!),
      address: devnet.asset,
      abi: usdcAbi,
      functionName: 'transferWithAuthorization',
      args: [from, to, value, validAfter, validBefore, nonce, ...proof],
    })
    const hash = await walletClient(devnet.rpcUrl, devnet.relayerKeys[0]!).writeContract(request)
    return client().waitForTransactionReceipt({ hash })
  }

  /** The address that the proxy runs the code of. */
  const implementation = async (): Promise<Hex> => {
    const slot = { address: devnet.asset, slot: IMPLEMENTATION_SLOT }
    const word = await client().getStorageAt(slot)
    return getAddress(`0x${word!.slice(-40)}`)
  }

  return { authorization, domain, sign, signAs, transfer, implementation }
}
