/** The token contract (ERC-3009): its calls, and what they return. */
import { encodeFunctionData, toFunctionSelector } from 'viem/utils'
import { addressWord, tokenAbi, word } from '../../../chain/abi.js'
import type { Call, CallResult } from '../../../chain/types.js'
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import type { Address, Hex } from '../../../../shared/protocol/payment.js'
import type { SettlementAsset } from '../transfer/settlement-asset.js'
import { wordOf } from '../transfer/reads.js'
import type { SignedTransfer } from '../transfer/transfer-method.js'

/** The domain of a token that is taken in this way. */
export function separatorOf({ separator }: SettlementAsset): Hex {
  if (separator === undefined) throw new Error('A token without ERC-3009 was to be paid by it.')
  return separator
}

/** The form that every token has, for signatures by a key. Encoded by hand: 7 µs, twice a payment; viem takes 67. */
const TRANSFER_BY_KEY = toFunctionSelector(
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
)

const TRANSFERS = [
  TRANSFER_BY_KEY,
  toFunctionSelector(
    'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
  ),
]

export function transferCall(
  transfer: SignedTransfer,
  { asset, from }: { asset: SettlementAsset; from?: Address | undefined },
): Call {
  return { to: asset.address, data: transferData(transfer), ...(from && { from }) }
}

function transferData({ facts, signature }: SignedTransfer): Hex {
  const { payer, payTo, amount, validAfter, validBefore, nonce } = facts
  const functionName = 'transferWithAuthorization'
  if (typeof signature === 'string')
    return encodeFunctionData({
      abi: tokenAbi,
      functionName,
      args: [payer, payTo, amount, validAfter, validBefore, nonce, signature],
    })
  const { v, r, s } = signature
  const window = word(amount) + word(validAfter) + word(validBefore)
  const signed = word(v) + r.slice(2) + s.slice(2)
  return `${TRANSFER_BY_KEY}${addressWord(payer)}${addressWord(payTo)}${window}${nonce.slice(2)}${signed}`
}

/** Whether a call of a token is one of `transferWithAuthorization`, in either form. */
export function isTransferCall({ data }: Call): boolean {
  return TRANSFERS.some((selector) => data.startsWith(selector))
}

export function authorizationStateCall({ contract: to, from, nonce }: PaymentKey): Call {
  const functionName = 'authorizationState'
  return { to, data: encodeFunctionData({ abi: tokenAbi, functionName, args: [from, nonce] }) }
}

/** Reads the answer to {@link authorizationStateCall}. */
export function toIsUsed(result: CallResult | undefined): boolean | undefined {
  const value = wordOf(result)
  return value === undefined ? undefined : value !== 0n
}

export function separatorCall({ address: to }: SettlementAsset): Call {
  return { to, data: encodeFunctionData({ abi: tokenAbi, functionName: 'DOMAIN_SEPARATOR' }) }
}
