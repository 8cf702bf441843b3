/** Signs payments by Permit2: `exact`, and `upto` where the offer names a facilitator. */
import { privateKeyToAccount } from 'viem/accounts'
import type { Devnet } from '../../src/devnet/index.js'
import type { Hex, PaymentPayload, PaymentRequirements } from '../../src/protocol/payment.js'
import { newNonce, type TestPayer } from './sign-payment.js'

type Contracts = Pick<
  Devnet,
  'permit2' | 'exactPermit2Proxy' | 'uptoPermit2Proxy' | 'chainId' | 'asset'
>

const address = (name: string) => ({ name, type: 'address' })
const uint = (name: string) => ({ name, type: 'uint256' })

/** What is signed, as EIP-712 describes it. */
const typesOf = (
  isMetered: boolean,
): Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>> => ({
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    ...[address('spender'), uint('nonce'), uint('deadline')],
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [address('token'), uint('amount')],
  Witness: [address('to'), ...(isMetered ? [address('facilitator')] : []), uint('validAfter')],
})

/** Makes the payment that a wallet would make for an entry of `accepts`. */
export async function signPermit(
  { permit2, exactPermit2Proxy, uptoPermit2Proxy, chainId }: Contracts,
  payer: TestPayer,
  accepted: PaymentRequirements,
): Promise<PaymentPayload> {
  const now = Math.floor(Date.now() / 1000)
  const facilitator = accepted.extra?.['facilitatorAddress'] as Hex | undefined
  const named = facilitator && { facilitator }
  const permit2Authorization = {
    from: payer.address,
    permitted: { token: accepted.asset, amount: accepted.amount },
    spender: facilitator ? uptoPermit2Proxy : exactPermit2Proxy,
    nonce: String(BigInt(newNonce())),
    deadline: String(now + accepted.maxTimeoutSeconds),
    witness: { to: accepted.payTo, ...named, validAfter: String(now - 600) },
  }
  const signature = await privateKeyToAccount(payer.privateKey).signTypedData({
    domain: { name: 'Permit2', chainId, verifyingContract: permit2 },
    types: typesOf(facilitator !== undefined),
    primaryType: 'PermitWitnessTransferFrom',
    message: permit2Authorization,
  })
  return {
    x402Version: 2,
    accepted: { ...accepted },
    payload: { signature, permit2Authorization },
  }
}

/**
 * Adds the payer's first approval of Permit2 on USDC (EIP-2612), for which the seller pays the gas. The contract
 * takes it once; whoever pays with the same one later needs what it has allowed.
 */
export async function withApproval(
  { permit2: spender, asset, chainId }: Contracts,
  payer: TestPayer,
  payment: PaymentPayload,
): Promise<PaymentPayload> {
  const { amount } = payment.accepted as unknown as PaymentRequirements
  const deadline = String(Math.floor(Date.now() / 1000) + 3600)
  const signature = await privateKeyToAccount(payer.privateKey).signTypedData({
    domain: { name: 'USDC', version: '2', chainId, verifyingContract: asset },
    types: {
      Permit: [address('owner'), address('spender'), ...['value', 'nonce', 'deadline'].map(uint)],
    },
    primaryType: 'Permit',
    message: {
      ...{ owner: payer.address, spender, value: BigInt(amount) },
      ...{ nonce: 0n, deadline: BigInt(deadline) },
    },
  })
  const info = { from: payer.address, asset, spender, amount, nonce: '0', deadline, signature }
  return {
    ...payment,
    extensions: { eip2612GasSponsoring: { info: { ...info, version: '1' }, schema: {} } },
  }
}

/** Who has signed a payment, and the nonce that it uses up, 32 bytes, whatever moves its tokens. */
export function keyOf({ payload }: PaymentPayload): { readonly from: Hex; readonly nonce: Hex } {
  const { authorization, permit2Authorization: permit } = payload as {
    readonly authorization?: { readonly from: Hex; readonly nonce: Hex }
    readonly permit2Authorization?: { readonly from: Hex; readonly nonce: string }
  }
  if (permit === undefined) return authorization!
  return { from: permit.from, nonce: `0x${BigInt(permit.nonce).toString(16).padStart(64, '0')}` }
}
