import { size } from 'viem/utils'
import type { Address, Hex } from '../../shared/protocol/payment.js'
import { WORD_DIGITS } from './abi.js'
import { transferProbeCode } from './transfer-probe-code.js'

/** Hexadecimal digits of the probe's result for one transfer: seven words. */
const RESULT_DIGITS = 7 * WORD_DIGITS

/** The probe's balance or allowance when the token does not answer. */
const UNKNOWN = 2n ** 256n - 1n

/** Most bytes of calldata: the probe keeps its results behind them. */
const MOST_BYTES = 2048

export interface ProbedTransfer {
  /** The contract that is called: the token itself, or one that Permit2 lets move it. */
  readonly to: Address
  readonly data: Hex
  readonly token: Address
  readonly payer: Address
  readonly payee: Address
}

export interface ProbeResult {
  /** Hash of the code at the payer's address; `undefined` when there is none. */
  readonly codeHash: Hex | undefined
  /** Whether the transfer succeeded; `not` when its payer has code, `missing` when what it calls has none. */
  readonly ran: 'well' | 'badly' | 'not' | 'missing'
  readonly gas: bigint
  /** Balances after the transfer, when it succeeded. */
  readonly balances: {
    readonly payer: bigint | undefined
    readonly payee: bigint | undefined
  }
  /** The allowance of Permit2 after the transfer, if that succeeded; meaningless where the token is called. */
  readonly allowance: bigint
  /** Gas that a second transfer of the same token in the same transaction saves. */
  readonly sharedGas: bigint
}

/** Creation code that simulates transfers, independently of each other, in an `eth_call`. */
export function encodeProbe(transfers: readonly ProbedTransfer[]): Hex {
  const items = transfers.map(({ to, token, payer, payee, data }) => {
    const bytes = size(data)
    if (bytes > MOST_BYTES) throw new TypeError('The call of a transfer is too long to simulate.')
    const addresses = [to, token, payer, payee].map((one) => one.slice(2).toLowerCase()).join('')
    return addresses + bytes.toString(16).padStart(4, '0') + data.slice(2)
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

/** How a transfer ran, by the number that the probe has for it. */
const RAN = ['not', 'badly', 'well', 'missing'] as const

function decodeResult(digits: string): ProbeResult {
  const word = (index: number): bigint =>
    BigInt(`0x${digits.slice(index * WORD_DIGITS, (index + 1) * WORD_DIGITS)}`)
  const known = (value: bigint): bigint | undefined => (value === UNKNOWN ? undefined : value)
  return {
    codeHash: word(1) === 0n ? undefined : `0x${digits.slice(WORD_DIGITS, 2 * WORD_DIGITS)}`,
    ran: RAN[Number(word(0))] ?? 'badly',
    gas: word(2),
    balances: { payer: known(word(3)), payee: known(word(4)) },
    // An allowance without bounds is the same number as an unknown one.
    allowance: word(5),
    sharedGas: word(6),
  }
}
