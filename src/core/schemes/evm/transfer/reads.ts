/** Reading words from contracts. */
import { encodeFunctionData, size, toFunctionSelector } from 'viem/utils'
import { addressWord, MULTICALL3, multicall3Abi } from '../../../chain/abi.js'
import type { Call, CallResult } from '../../../chain/types.js'
import type { Address, Hex } from '../../../../shared/protocol/payment.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'

const BALANCE_OF = toFunctionSelector('balanceOf(address)')
const PAUSED = toFunctionSelector('paused()')
const IS_BLACKLISTED = toFunctionSelector('isBlacklisted(address)')

export function balanceCall(token: Address, account: Address): Call {
  return { to: token, data: `${BALANCE_OF}${addressWord(account)}` }
}

/** Asks for the time of the block, in Unix seconds. */
export function clockCall(): Call {
  const functionName = 'getCurrentBlockTimestamp'
  return { to: MULTICALL3, data: encodeFunctionData({ abi: multicall3Abi, functionName }) }
}

/** Asks whether the operator of a token stops a transfer. Circle's tokens answer; others may not. */
export function operatorCalls(token: Address, payer: Address, payee: Address): readonly Call[] {
  const ask = (data: Hex): Call => ({ to: token, data })
  return [
    ask(PAUSED),
    ask(`${IS_BLACKLISTED}${addressWord(payer)}`),
    ask(`${IS_BLACKLISTED}${addressWord(payee)}`),
  ]
}

/** Reads the answers to {@link operatorCalls}. */
export function operatorReason([paused, payer, payee]: readonly (CallResult | undefined)[]):
  Reason | undefined {
  if (wordOf(paused) === 1n) return 'token_paused'
  if (wordOf(payer) === 1n) return 'payer_blacklisted'
  return wordOf(payee) === 1n ? 'pay_to_blacklisted' : undefined
}

/** One 32-byte word that a contract returned, as a number. */
export function wordOf(result: CallResult | undefined): bigint | undefined {
  return result?.ok && size(result.data) === 32 ? BigInt(result.data) : undefined
}
