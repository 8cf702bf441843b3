import type { Address, Hex } from '../protocol/payment.js'
import { addressWord } from './abi.js'
import { transferProbeCode } from './transfer-probe-code.js'

/** Bytes of calldata of `transferWithAuthorization` in the form for signatures by a key. */
const TRANSFER_BYTES = 4 + 9 * 32

/** Hexadecimal digits of what the probe returns for a transfer: six words. */
const WORD = 64
const RESULT_DIGITS = 6 * WORD

/** What `balanceOf` is read as where a token does not answer it. */
const UNKNOWN = 2n ** 256n - 1n

/** A transfer that is to be run without sending it. */
export interface ProbedTransfer {
  readonly token: Address
  /** Calldata of `transferWithAuthorization`, for a signature by a key. */
  readonly data: Hex
}

/** What running a transfer without sending it showed, at one block. */
export interface ProbeResult {
  /** Hash of the code at the payer's address; absent where there is none. */
  readonly codeHash: Hex | undefined
  /** Whether the transfer would succeed; it was not run where its payer has code, nor without a token. */
  readonly ran: 'well' | 'badly' | 'not'
  /** Gas that the call of the token took. */
  readonly gas: bigint
  /** After the transfer, where it ran well. */
  readonly balances: {
    readonly payer: bigint | undefined
    readonly payee: bigint | undefined
  }
  /** Gas that a further transfer of the same token in the same transaction need not pay again. */
  readonly sharedGas: bigint
}

/** Creation code that runs transfers, each by itself, when it is called without being deployed. */
export function encodeProbe(transfers: readonly ProbedTransfer[]): Hex {
  const items = transfers.map(({ token, data }) => {
    if (data.length !== 2 + TRANSFER_BYTES * 2)
      throw new TypeError('This is no transfer that is signed by a key.')
    return addressWord(token) + data.slice(2)
  })
  return `${transferProbeCode}${items.join('')}`
}

/** @returns `undefined` where a node that runs no such code returned something else. */
export function decodeProbe(returned: Hex, count: number): readonly ProbeResult[] | undefined {
  if (returned.length !== 2 + count * RESULT_DIGITS) return undefined
  return Array.from({ length: count }, (_, index) =>
    decodeResult(returned.slice(2 + index * RESULT_DIGITS, 2 + (index + 1) * RESULT_DIGITS)),
  )
}

function decodeResult(digits: string): ProbeResult {
  const word = (index: number): bigint =>
    BigInt(`0x${digits.slice(index * WORD, (index + 1) * WORD)}`)
  const balance = (value: bigint): bigint | undefined => (value === UNKNOWN ? undefined : value)
  const [code, ran] = [word(0), word(1)]
  return {
    codeHash: code === 0n ? undefined : `0x${digits.slice(0, WORD)}`,
    ran: ran === 0n ? 'not' : ran === 2n ? 'well' : 'badly',
    gas: word(2),
    balances: { payer: balance(word(3)), payee: balance(word(4)) },
    sharedGas: word(5),
  }
}
