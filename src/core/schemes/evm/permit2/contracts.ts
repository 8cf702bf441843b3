/** Permit2, and the contracts of x402 that it lets move a payer's tokens. */
import { toEventSelector, toFunctionSelector } from 'viem/utils'
import type { Log } from '../../../chain/types.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'
import { PERMIT2_SPENDERS } from '../../../../shared/protocol/contracts.js'
import type { Address, Hex } from '../../../../shared/protocol/payment.js'
import { hashText, Words } from '../../../../shared/crypto/eip712.js'
import { PERMIT2 } from '../transfer/address.js'

const DOMAIN_TYPE_HASH = hashText(
  'EIP712Domain(string name,uint256 chainId,address verifyingContract)',
)
const DOMAIN_NAME = hashText('Permit2')

/** Hashes the EIP-712 domain of Permit2, which has no version; done once per token. */
export function permit2Separator(chainId: number): Hex {
  return new Words(4)
    .bytes(DOMAIN_TYPE_HASH)
    .bytes(DOMAIN_NAME)
    .number(BigInt(chainId))
    .address(PERMIT2)
    .hashHex()
}

/** An x402 contract that payers name as the spender. It pays only the payee in the signed witness. */
export interface Spender {
  readonly address: Address
  readonly witnessTypeHash: Uint8Array
  readonly typeHash: Uint8Array
  readonly selectors: { readonly settle: Hex; readonly settleWithPermit: Hex }
  /** Whether its caller says how much of the amount is taken. Then only the facilitator in the signed witness may call it. */
  readonly isMetered: boolean
}

const PERMIT = '((address,uint256),uint256,uint256)'
const EIP2612_PERMIT = '(uint256,uint256,bytes32,bytes32,uint8)'
const TYPE =
  'PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness)TokenPermissions(address token,uint256 amount)'

function spender(
  address: Address,
  { isMetered, witness, rest }: { isMetered: boolean; witness: string; rest: string },
): Spender {
  return {
    address: lowerHex(address),
    witnessTypeHash: hashText(witness),
    typeHash: hashText(TYPE + witness),
    selectors: {
      settle: toFunctionSelector(`settle(${PERMIT},${rest})`),
      settleWithPermit: toFunctionSelector(`settleWithPermit(${EIP2612_PERMIT},${PERMIT},${rest})`),
    },
    isMetered,
  }
}

/** `x402ExactPermit2Proxy`: moves the signed amount; anybody may call it. */
export const EXACT_SPENDER = spender(PERMIT2_SPENDERS.exact, {
  isMetered: false,
  witness: 'Witness(address to,uint256 validAfter)',
  rest: 'address,(address,uint256),bytes',
})

/** `x402UptoPermit2Proxy`: moves at most the signed amount; only the named facilitator may call it. */
export const UPTO_SPENDER = spender(PERMIT2_SPENDERS.upto, {
  isMetered: true,
  witness: 'Witness(address to,address facilitator,uint256 validAfter)',
  rest: 'uint256,address,(address,address,uint256),bytes',
})

const SPENDERS: ReadonlyMap<Address, Spender> = new Map(
  [EXACT_SPENDER, UPTO_SPENDER].map((one) => [one.address, one]),
)

export function findSpender(address: Address): Spender | undefined {
  return SPENDERS.get(lowerHex(address))
}

/** The spender of a permit whose terms were checked; another one makes its digest and call useless. */
export function spenderOf({ spender: address }: { readonly spender: Address }): Spender {
  return findSpender(address) ?? EXACT_SPENDER
}

const SETTLED: ReadonlySet<string> = new Set(
  ['Settled()', 'SettledWithPermit()'].map((event) => toEventSelector(event)),
)

/** Whether a log says that a spender has just made a payment. It does not say which one. */
export function isSettlement({ address, topics }: Log): boolean {
  const [event, ...others] = topics
  return (
    others.length === 0 &&
    SETTLED.has(event?.toLowerCase() ?? '') &&
    findSpender(address) !== undefined
  )
}
