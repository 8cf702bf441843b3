/** What payers, strangers and the token's operator do on the chain by themselves. */
import { encodeFunctionData, parseAbi, parseSignature } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { tokenAbi } from '../../src/core/chain/abi.js'
import type { Devnet } from '../../src/tools/devnet/index.js'
import type { Hex, PaymentPayload } from '../../src/shared/protocol/payment.js'
import { askNode } from './core.js'
import { newNonce, type TestPayer } from './sign-payment.js'
import { until } from './until.js'

const GWEI = 10n ** 9n
const ONE_ETHER = 10n ** 18n

const token = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function pause()',
  'function unpause()',
  'function blacklist(address account)',
  'function unBlacklist(address account)',
])

/** An ERC-3009 authorization on the wire. */
export interface SignedAuthorization {
  readonly from: Hex
  readonly to: Hex
  readonly value: string
  readonly validAfter: string
  readonly validBefore: string
  readonly nonce: Hex
}

/** The authorization that a payment carries. */
export function signedAuthorization({ payload }: PaymentPayload): SignedAuthorization {
  return (payload as { authorization: SignedAuthorization }).authorization
}

/** A number as JSON-RPC takes it. */
export const toHex = (value: bigint | number): Hex => `0x${value.toString(16)}`

/** The call that a relayer makes of a payment. */
export function transferOf(payment: PaymentPayload): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = signedAuthorization(payment)
  const { signature } = payment.payload as { signature: Hex }
  const window = [BigInt(value), BigInt(validAfter), BigInt(validBefore)] as const
  return encodeFunctionData({
    abi: tokenAbi,
    functionName: 'transferWithAuthorization',
    args: [from, to, ...window, nonce, signature],
  })
}

/** Waits until a transaction is mined: a node that mines at once still says first that it has it. */
export async function untilMined(devnet: Devnet, transaction: Hex): Promise<void> {
  await until(async () => (await blockOf(devnet, transaction)) !== undefined)
}

/** A reorganisation that drops a transaction, its block, and all that came after. */
export async function undo(devnet: Devnet, transaction: Hex): Promise<void> {
  await untilMined(devnet, transaction)
  const first = await blockOf(devnet, transaction)
  for (;;) {
    const latest = Number(await askNode<Hex>(devnet, 'eth_blockNumber'))
    await askNode(devnet, 'anvil_reorg', latest - first!.number + 1, [])
    const now = await blockOf(devnet, transaction)
    // Where the devnet has mined a block in between, too few were dropped.
    if (now?.hash !== first!.hash) return
  }
}

async function blockOf(
  devnet: Devnet,
  transaction: Hex,
): Promise<{ readonly number: number; readonly hash: Hex } | undefined> {
  const receipt = await askNode<{ blockNumber: Hex; blockHash: Hex } | null>(
    devnet,
    'eth_getTransactionReceipt',
    transaction,
  )
  if (receipt === null) return undefined
  return { number: Number(receipt.blockNumber), hash: receipt.blockHash }
}

/** The call that anybody can make of a payment, with the signature in pieces. */
export function callOf(payment: PaymentPayload): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = signedAuthorization(payment)
  const { r, s, yParity } = parseSignature((payment.payload as { signature: Hex }).signature)
  const window = [BigInt(value), BigInt(validAfter), BigInt(validBefore)] as const
  const args = [from, to, ...window, nonce, 27 + yParity, r, s] as const
  return encodeFunctionData({ abi: token, functionName: 'transferWithAuthorization', args })
}

/** A stranger sends the payer's authorization himself. */
export async function frontRun(devnet: Devnet, payment: PaymentPayload): Promise<Hex> {
  return sendAs(devnet, privateKeyToAccount(newNonce()).address, callOf(payment))
}

/** Sends a call of a token's from any account, ahead of everybody else. */
export async function sendAs(
  devnet: Devnet,
  from: Hex,
  data: Hex,
  to: Hex = devnet.asset,
): Promise<Hex> {
  await askNode(devnet, 'anvil_setBalance', from, toHex(ONE_ETHER))
  await askNode(devnet, 'anvil_impersonateAccount', from)
  const gas = { gas: toHex(200_000), maxFeePerGas: toHex(100n * GWEI) }
  const tip = { maxPriorityFeePerGas: toHex(50n * GWEI) }
  return askNode(devnet, 'eth_sendTransaction', { from, to, data, ...gas, ...tip })
}

/** An account with a million units of the token and nothing else. */
export async function newPayer(devnet: Devnet): Promise<TestPayer> {
  const privateKey = newNonce()
  const { address } = privateKeyToAccount(privateKey)
  await devnet.mint(address, 1_000_000n)
  return { address, privateKey }
}

/** A {@link newPayer} gives all of it away. */
export async function emptyAccount(devnet: Devnet, payer: TestPayer): Promise<void> {
  const args = [devnet.payers[0]!.address, 1_000_000n] as const
  const data = encodeFunctionData({ abi: token, functionName: 'transfer', args })
  await sendAs(devnet, payer.address, data)
}

/** The payer takes back an authorization that is not used. */
export async function cancel(
  devnet: Devnet,
  payer: TestPayer,
  payment: PaymentPayload,
): Promise<void> {
  const { nonce } = signedAuthorization(payment)
  const types = { CancelAuthorization: [{ name: 'authorizer', type: 'address' }, NONCE] } as const
  const signature = await privateKeyToAccount(payer.privateKey).signTypedData({
    domain: { name: 'USDC', version: '2', chainId: 84532, verifyingContract: devnet.asset },
    types,
    primaryType: 'CancelAuthorization',
    message: { authorizer: payer.address, nonce },
  })
  const { r, s, yParity } = parseSignature(signature)
  const abi = parseAbi([
    'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  ])
  const args = [payer.address, nonce, 27 + yParity, r, s] as const
  const functionName = 'cancelAuthorization'
  await sendAs(devnet, payer.address, encodeFunctionData({ abi, functionName, args }))
}
const NONCE = { name: 'nonce', type: 'bytes32' } as const

/** What the token's operator may do. On the devnet anybody is. */
type Operation =
  | readonly [functionName: 'pause' | 'unpause']
  | readonly [functionName: 'blacklist' | 'unBlacklist', account: Hex]

/** The token's operator does it, in a block of its own or ahead of what waits to be mined. */
export async function operate(devnet: Devnet, ...operation: Operation): Promise<Hex> {
  const data =
    operation.length === 1
      ? encodeFunctionData({ abi: token, functionName: operation[0] })
      : encodeFunctionData({ abi: token, functionName: operation[0], args: [operation[1]] })
  const transaction = await sendAs(devnet, privateKeyToAccount(newNonce()).address, data)
  await devnet.mine()
  return transaction
}
