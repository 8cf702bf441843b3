/** Reading words from contracts. */
import { encodeFunctionData, size, toFunctionSelector } from 'viem/utils'
import { addressWord, MULTICALL3, multicall3Abi } from '../../chain/abi.js'
import type { Call, CallResult } from '../../chain/types.js'
import type { Address } from '../../protocol/payment.js'

const BALANCE_OF = toFunctionSelector('balanceOf(address)')

/** Asks for an account's balance of a token. */
export function balanceCall(token: Address, account: Address): Call {
  return { to: token, data: `${BALANCE_OF}${addressWord(account)}` }
}

/** Asks for the time of the block, in Unix seconds. */
export function clockCall(): Call {
  const functionName = 'getCurrentBlockTimestamp'
  return { to: MULTICALL3, data: encodeFunctionData({ abi: multicall3Abi, functionName }) }
}

/** One 32-byte word that a contract returned, as a number. */
export function wordOf(result: CallResult | undefined): bigint | undefined {
  return result?.ok && size(result.data) === 32 ? BigInt(result.data) : undefined
}
