import type { Address, Hex } from '../protocol/payment.js'
import { addressWord, WORD_DIGITS } from './abi.js'
import { transferProbeCode } from './transfer-probe-code.js'

/** Bytes of `transferWithAuthorization` calldata in the form with `v`, `r` and `s`. */
const TRANSFER_BYTES = 4 + 9 * 32

/** Hexadecimal digits of the probe's result for one transfer: six words. */
const RESULT_DIGITS = 6 * WORD_DIGITS

/** The probe's balance of an account when the token does not answer `balanceOf`. */
const UNKNOWN = 2n ** 256n - 1n

/** A transfer to simulate. */
export interface ProbedTransfer {
  readonly token: Address
  /** Calldata of `transferWithAuthorization` with `v`, `r` and `s`. */
  readonly data: Hex
}

/** The result of simulating a transfer at one block. */
export interface ProbeResult {
  /** Hash of the code at the payer's address; `undefined` when there is none. */
  readonly codeHash: Hex | undefined
  /** Whether the transfer succeeded; `not` when its payer has code, or its token has none. */
  readonly ran: 'well' | 'badly' | 'not'
  /** Gas of the call of the token. */
  readonly gas: bigint
  /** Balances after the transfer, when it succeeded. */
  readonly balances: {
    readonly payer: bigint | undefined
    readonly payee: bigint | undefined
  }
  /** Gas that a second transfer of the same token in the same transaction saves. */
  readonly sharedGas: bigint
}

/** Creation code that simulates transfers, independently of each other, in an `eth_call`. */
export function encodeProbe(transfers: readonly ProbedTransfer[]): Hex {
  const items = transfers.map(({ token, data }) => {
    if (data.length !== 2 + TRANSFER_BYTES * 2)
      throw new TypeError('This is no transfer that is signed by a key.')
    return addressWord(token) + data.slice(2)
  })
  return `${transferProbeCode}${items.join('')}`
}

/** Decodes the probe's results. @returns `undefined` when the node does not run such code. */
export function decodeProbe(returned: Hex, count: number): readonly ProbeResult[] | undefined {
  if (returned.length !== 2 + count * RESULT_DIGITS) return undefined
  return Array.from({ length: count }, (_, index) =>
    decodeResult(returned.slice(2 + index * RESULT_DIGITS, 2 + (index + 1) * RESULT_DIGITS)),
  )
}

function decodeResult(digits: string): ProbeResult {
  const word = (index: number): bigint =>
    BigInt(`0x${digits.slice(index * WORD_DIGITS, (index + 1) * WORD_DIGITS)}`)
  const balance = (value: bigint): bigint | undefined => (value === UNKNOWN ? undefined : value)
  const [ran, code] = [word(0), word(1)]
  return {
    codeHash: code === 0n ? undefined : `0x${digits.slice(WORD_DIGITS, 2 * WORD_DIGITS)}`,
    ran: ran === 0n ? 'not' : ran === 2n ? 'well' : 'badly',
    gas: word(2),
    balances: { payer: balance(word(3)), payee: balance(word(4)) },
    sharedGas: word(5),
  }
}
