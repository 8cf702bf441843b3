import { ExactEvmScheme, toClientEvmSigner } from '@x402/evm'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { type Abi, encodeFunctionData, parseSignature } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { exactPermit2ProxyAbi, permit2Abi, plainTokenAbi, uptoPermit2ProxyAbi } from './abis.js'
import type { Devnet } from '../../../src/tools/devnet/index.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { askNode } from '../../support/core.js'
import { toHex } from '../../support/on-chain.js'
import type { TestPayer } from '../../support/sign-payment.js'
import { publicClient, walletClient } from './clients.js'

/** What an official client makes of an offer. */
export interface Permit2Payload {
  readonly signature: Hex
  readonly permit2Authorization: {
    readonly from: Hex
    readonly permitted: { readonly token: Hex; readonly amount: string }
    readonly spender: Hex
    readonly nonce: string
    readonly deadline: string
    readonly witness: {
      readonly to: Hex
      readonly facilitator: Hex
      readonly validAfter: string
    }
  }
}

/** A sponsored approval beside it (EIP-2612). */
export interface SponsoredApproval {
  readonly amount: string
  readonly deadline: string
  readonly signature: Hex
}

/** Arguments of `settle` of either proxy, in the order of the one of `upto`. */
export interface Settlement {
  readonly permit: {
    readonly permitted: { readonly token: Hex; readonly amount: bigint }
    readonly nonce: bigint
    readonly deadline: bigint
  }
  readonly amount: bigint
  readonly owner: Hex
  readonly witness: { readonly to: Hex; readonly facilitator: Hex; readonly validAfter: bigint }
  readonly signature: Hex
}

interface Offer {
  readonly token?: Hex
  readonly amount?: bigint
  readonly extra?: Readonly<Record<string, unknown>>
}

interface Call {
  readonly address: Hex
  readonly abi: Abi
  readonly functionName: string
  readonly args: readonly unknown[]
  /** @defaultValue the node's estimate, which calls that may fail inside satisfy by failing */
  readonly gas?: bigint
}

export const PRICE = 250_000n

/** Errors of Permit2 pass through the proxies. */
const exactAbi = [...exactPermit2ProxyAbi, ...permit2Abi.filter(({ type }) => type === 'error')]
const uptoAbi = [...uptoPermit2ProxyAbi, ...permit2Abi.filter(({ type }) => type === 'error')]

/** How payers and relayers use a devnet's Permit2. */
export function permit2Of(devnet: Devnet) {
  const client = () => publicClient(devnet.rpcUrl)
  const relayer = (index = 0) => privateKeyToAccount(devnet.relayerKeys[index]!).address

  /** Has a payer sign by an unmodified client. */
  const pay = async (
    scheme: 'exact' | 'upto',
    payer: TestPayer,
    { token = devnet.asset, amount = PRICE, extra = {} }: Offer = {},
  ) => {
    const signer = toClientEvmSigner(privateKeyToAccount(payer.privateKey), client())
    const options = { rpcUrl: devnet.rpcUrl }
    const made =
      scheme === 'exact' ? new ExactEvmScheme(signer, options) : new UptoEvmScheme(signer, options)
    const requirements = {
      scheme,
      network: 'eip155:84532',
      amount: String(amount),
      asset: token,
      payTo: devnet.merchant.address,
      maxTimeoutSeconds: 300,
      extra: { assetTransferMethod: 'permit2', facilitatorAddress: relayer(), ...extra },
    } as const
    const eip2612GasSponsoring = { info: { description: '', version: '1' }, schema: {} }
    const context = { extensions: { eip2612GasSponsoring } }
    const result = await made.createPaymentPayload(2, requirements, context)
    const sponsored = result.extensions?.['eip2612GasSponsoring'] as
      { info: SponsoredApproval } | undefined
    const payload = result.payload as unknown as Permit2Payload
    return { settlement: settlementOf(payload), approval: sponsored?.info, payload }
  }

  /** Sends a call by a relayer; rejects with the contract's error when that refuses. */
  const send = async (call: Call, index = 0) => {
    const key = devnet.relayerKeys[index]
    const account = privateKeyToAccount(key!)
    const { request } = await client().simulateContract({ account, ...call })
    const hash = await walletClient(devnet.rpcUrl, key!).writeContract(request)
    return client().waitForTransactionReceipt({ hash })
  }

  const settleExact = (settlement: Settlement, approval?: SponsoredApproval, index = 0) => {
    const { permit, owner, witness, signature } = settlement
    const call = {
      address: devnet.exactPermit2Proxy,
      abi: exactAbi,
      functionName: approval ? 'settleWithPermit' : 'settle',
      args: [...permitOf(approval), permit, owner, witness, signature],
    }
    return send(call, index)
  }

  const settleUpto = (settlement: Settlement, approval?: SponsoredApproval) => {
    const { permit, amount, owner, witness, signature } = settlement
    return send({
      address: devnet.uptoPermit2Proxy,
      abi: uptoAbi,
      functionName: approval ? 'settleWithPermit' : 'settle',
      args: [...permitOf(approval), permit, amount, owner, witness, signature],
    })
  }

  /** Sends a call from any account, which gets gas money. */
  const sendFrom = async (from: Hex, to: Hex, data: Hex) => {
    await askNode(devnet, 'anvil_setBalance', from, toHex(10n ** 18n))
    await askNode(devnet, 'anvil_impersonateAccount', from)
    const hash = await askNode<Hex>(devnet, 'eth_sendTransaction', { from, to, data })
    return client().waitForTransactionReceipt({ hash })
  }

  /** An account lets Permit2 take its tokens. */
  const approve = (owner: Hex, token: Hex = devnet.asset, amount = 2n ** 256n - 1n) => {
    const args = [devnet.permit2, amount] as const
    const data = encodeFunctionData({ abi: plainTokenAbi, functionName: 'approve', args })
    return sendFrom(owner, token, data)
  }

  /** Whether a nonce is used. */
  const isUsed = async (owner: Hex, nonce: bigint): Promise<boolean> => {
    const bits = await client().readContract({
      address: devnet.permit2,
      abi: permit2Abi,
      functionName: 'nonceBitmap',
      args: [owner, nonce >> 8n],
    })
    return ((bits >> (nonce & 255n)) & 1n) === 1n
  }

  const balanceOf = (account: Hex, token: Hex = devnet.asset): Promise<bigint> =>
    client().readContract({
      address: token,
      abi: plainTokenAbi,
      functionName: 'balanceOf',
      args: [account],
    })

  return { relayer, pay, send, settleExact, settleUpto, sendFrom, approve, isUsed, balanceOf }
}

export function settlementOf({
  signature,
  permit2Authorization: signed,
}: Permit2Payload): Settlement {
  const { from: owner, permitted, nonce, deadline, witness } = signed
  const amount = BigInt(permitted.amount)
  return {
    permit: {
      permitted: { token: permitted.token, amount },
      nonce: BigInt(nonce),
      deadline: BigInt(deadline),
    },
    amount,
    owner,
    witness: { ...witness, validAfter: BigInt(witness.validAfter) },
    signature,
  }
}

function permitOf(approval: SponsoredApproval | undefined): unknown[] {
  if (approval === undefined) return []
  const { r, s, yParity } = parseSignature(approval.signature)
  const { amount, deadline } = approval
  return [{ value: BigInt(amount), deadline: BigInt(deadline), r, s, v: 27 + yParity }]
}

/** The same payment with members that were not signed. */
export function tampered(
  settlement: Settlement,
  change: Partial<Settlement['permit']> | Partial<Settlement['witness']>,
): Settlement {
  return {
    ...settlement,
    permit: { ...settlement.permit, ...change },
    witness: { ...settlement.witness, ...change },
  }
}
