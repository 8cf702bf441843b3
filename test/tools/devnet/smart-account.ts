import { encodeFunctionData, serializeErc6492Signature } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { accountFactoryAbi } from './abis.js'
import type { Devnet } from '../../../src/tools/devnet/index.js'
import type { Hex, PaymentPayload } from '../../../src/shared/protocol/payment.js'
import { askNode } from '../../support/core.js'
import { newPayer, sendAs, toHex } from '../../support/on-chain.js'
import { newNonce, type TestPayer } from '../../support/sign-payment.js'
import { publicClient } from './clients.js'

/** A smart account that its factory has not deployed yet. */
export interface CounterfactualAccount {
  readonly address: Hex
  /** Whose signatures are the account's. */
  readonly owner: TestPayer
  readonly factory: Hex
  /** The call by which the factory deploys it. */
  readonly factoryData: Hex
  /** Makes an ERC-6492 signature of the owner's. */
  wrap(signature: Hex): Hex
}

/** An account without code, with a million units of USDC, of the devnet's factory or one alike. */
export async function counterfactualAccount(
  devnet: Devnet,
  factory: Hex = devnet.accountFactory,
): Promise<CounterfactualAccount> {
  const owner = await newPayer(devnet)
  const args = [owner.address, 0n] as const
  const address = await publicClient(devnet.rpcUrl).readContract({
    address: factory,
    abi: accountFactoryAbi,
    functionName: 'getAddress',
    args,
  })
  await devnet.mint(address, 1_000_000n)
  const factoryData = encodeFunctionData({
    abi: accountFactoryAbi,
    functionName: 'createAccount',
    args,
  })
  const wrap = (signature: Hex): Hex =>
    serializeErc6492Signature({ address: factory, data: factoryData, signature })
  return { address, owner, factory, factoryData, wrap }
}

/** A payment that the owner of an account has signed, as the account's own. */
export function wrapPayment(
  payment: PaymentPayload,
  { wrap }: Pick<CounterfactualAccount, 'wrap'>,
): PaymentPayload {
  const { signature } = payment.payload as { signature: Hex }
  return { ...payment, payload: { ...payment.payload, signature: wrap(signature) } }
}

/** A stranger deploys an account. */
export async function deployAccount(
  devnet: Devnet,
  { factory, factoryData }: CounterfactualAccount,
): Promise<void> {
  const from = privateKeyToAccount(newNonce()).address
  await sendAs(devnet, from, '0x')
  const gas = toHex(1_000_000)
  await askNode(devnet, 'eth_sendTransaction', { from, to: factory, data: factoryData, gas })
  await devnet.mine()
}
