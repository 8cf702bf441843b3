/** Calls of x402's spenders, encoded by hand like those of tokens: each payment is encoded twice. */
import { size, toFunctionSelector } from 'viem/utils'
import { addressWord, word, WORD_DIGITS } from '../../../chain/abi.js'
import type { Call } from '../../../chain/types.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import type { Address, Hex } from '../../../../shared/protocol/payment.js'
import type { SignedTransfer } from '../transfer/transfer-method.js'
import { joinSignature } from '../verify/signature.js'
import { PERMIT2 } from '../transfer/address.js'
import { findSpender, spenderOf, type Spender } from './contracts.js'
import { signedPermitOf } from './payload.js'
import { approvalOf, type SponsoredApproval } from './sponsored-approval.js'

const NONCE_BITMAP = toFunctionSelector('nonceBitmap(address,uint256)')
const ALLOWANCE = toFunctionSelector('allowance(address,address)')

/** Words of an EIP-2612 permit before the rest of a call. */
const APPROVAL_WORDS = 5

/** Words of the rest that tell what a call moves. */
const WORDS_READ = 8

export function settleCall({ facts, signature, amount: charge }: SignedTransfer): Call {
  const { payer, payTo, amount, nonce, validAfter, validBefore } = facts
  const permit = signedPermitOf(facts)
  const { address, isMetered, selectors } = spenderOf(permit)
  const approved = approvalOf(facts)
  const head = [
    ...(approved ? approvalWords(approved) : []),
    addressWord(permit.token),
    word(amount),
    nonce.slice(2),
    word(validBefore),
    ...(isMetered ? [word(charge ?? amount)] : []),
    addressWord(payer),
    addressWord(payTo),
    ...(isMetered ? [addressWord(permit.facilitator ?? '0x')] : []),
    word(validAfter),
  ]
  const offset = word((head.length + 1) * 32)
  const selector = approved ? selectors.settleWithPermit : selectors.settle
  const signed = encodeBytes(typeof signature === 'string' ? signature : joinSignature(signature))
  return { to: address, data: `${selector}${head.join('')}${offset}${signed}` }
}

/** What a call of a spender moves. Addresses are lower case. */
export interface SettleCall {
  readonly spender: Spender
  readonly token: Address
  /** Token units that are moved. */
  readonly amount: bigint
  /** 32 bytes. */
  readonly nonce: Hex
  readonly payer: Address
  readonly payee: Address
  /** The only account that may make the call, where its spender meters. */
  readonly facilitator: Address | undefined
}

export function readSettleCall({ to, data }: Call): SettleCall | undefined {
  const spender = findSpender(to)
  const start = spender && startOf(spender, lowerHex(data.slice(0, 10)))
  if (spender === undefined || start === undefined) return undefined
  const digits = data.slice(10, 10 + (start + WORDS_READ) * WORD_DIGITS).toLowerCase()
  const wordAt = (index: number): string =>
    digits.slice((start + index) * WORD_DIGITS, (start + index + 1) * WORD_DIGITS)
  const addressAt = (index: number): Address => `0x${wordAt(index).slice(-40)}`
  const amountAt = spender.isMetered ? 4 : 1
  const payerAt = spender.isMetered ? 5 : 4
  // Too short a call reverts.
  if (wordAt(payerAt + 2).length < WORD_DIGITS) return undefined
  return {
    spender,
    token: addressAt(0),
    amount: BigInt(`0x${wordAt(amountAt)}`),
    nonce: `0x${wordAt(2)}`,
    payer: addressAt(payerAt),
    payee: addressAt(payerAt + 1),
    facilitator: spender.isMetered ? addressAt(payerAt + 2) : undefined,
  }
}

/** Asks for the word of an owner's used nonces that has the bit of a payment. */
export function nonceBitmapCall({ from, nonce }: Omit<PaymentKey, 'chainId'>): Call {
  return { to: PERMIT2, data: `${NONCE_BITMAP}${addressWord(from)}${word(BigInt(nonce) >> 8n)}` }
}

export function isUsedIn(bits: bigint, nonce: Hex): boolean {
  return ((bits >> (BigInt(nonce) & 255n)) & 1n) === 1n
}

export function allowanceCall(token: Address, owner: Address): Call {
  return { to: token, data: `${ALLOWANCE}${addressWord(owner)}${addressWord(PERMIT2)}` }
}

function startOf({ selectors }: Spender, selector: Hex): number | undefined {
  if (selector === selectors.settle) return 0
  return selector === selectors.settleWithPermit ? APPROVAL_WORDS : undefined
}

function approvalWords({
  amount,
  deadline,
  signature: { r, s, v },
}: SponsoredApproval): readonly string[] {
  return [word(amount), word(deadline), r.slice(2), s.slice(2), word(v)]
}

function encodeBytes(bytes: Hex): string {
  const digits = bytes.slice(2)
  const padded = Math.ceil(digits.length / WORD_DIGITS) * WORD_DIGITS
  return word(size(bytes)) + digits.padEnd(padded, '0')
}
