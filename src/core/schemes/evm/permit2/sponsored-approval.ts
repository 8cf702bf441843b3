/** The extension `eip2612GasSponsoring`: a signed approval of Permit2, for which the seller pays the gas. */
import { z } from 'zod'
import type { PaymentFacts } from '../../../../shared/protocol/decoded-payment.js'
import { isObject } from '../../../../shared/protocol/document.js'
import { lowerHex, sameHex } from '../../../../shared/protocol/hex.js'
import { PERMIT_SPONSORING } from '../../../../shared/protocol/permit-sponsoring.js'
import type { Address } from '../../../../shared/protocol/payment.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'
import { address, signature, uint256 } from '../../../../shared/protocol/wire-schemas.js'
import type { EcdsaSignature } from '../transfer/transfer-method.js'
import { parseEcdsaSignature } from '../verify/signature.js'
import { signedPermitOf, type SignedPermit } from './payload.js'
import { PERMIT2 } from '../transfer/address.js'

const infoSchema = z.looseObject({
  from: address,
  asset: address,
  spender: address,
  amount: uint256,
  deadline: uint256,
  signature,
})

/** An approval by EIP-2612. Addresses are lower case. */
export interface SponsoredApproval {
  readonly from: Address
  readonly asset: Address
  readonly spender: Address
  readonly amount: bigint
  /** Unix seconds; valid until then. */
  readonly deadline: bigint
  readonly signature: EcdsaSignature
}

/** Approvals by permit, so that each signature is parsed once. */
const known = new WeakMap<SignedPermit, SponsoredApproval | 'invalid' | undefined>()

/** The approval that came with a payment; `invalid` if it is unreadable. */
function approvalIn(facts: PaymentFacts): SponsoredApproval | 'invalid' | undefined {
  const permit = signedPermitOf(facts)
  if (!known.has(permit)) known.set(permit, readApproval(permit.extensions))
  return known.get(permit)
}

export function approvalOf(facts: PaymentFacts): SponsoredApproval | undefined {
  const approval = approvalIn(facts)
  return approval === 'invalid' ? undefined : approval
}

function readApproval(extensions: unknown): SponsoredApproval | 'invalid' | undefined {
  const sent = isObject(extensions) ? extensions[PERMIT_SPONSORING] : undefined
  const info = isObject(sent) ? sent['info'] : undefined
  // What the offer says is sent back by clients that need no approval.
  if (!isObject(info) || info['signature'] === undefined) return undefined
  const parsed = infoSchema.safeParse(info)
  const ecdsa = parsed.success ? parseEcdsaSignature(lowerHex(parsed.data.signature)) : undefined
  if (!parsed.success || ecdsa === undefined) return 'invalid'
  const { from, asset, spender, amount, deadline } = parsed.data
  return {
    from: lowerHex(from),
    asset: lowerHex(asset),
    spender: lowerHex(spender),
    amount: BigInt(amount),
    deadline: BigInt(deadline),
    signature: ecdsa,
  }
}

export function checkApproval(facts: PaymentFacts): Reason | undefined {
  const approval = approvalIn(facts)
  if (approval === undefined) return undefined
  if (approval === 'invalid') return 'invalid_eip2612_extension_format'
  if (!sameHex(approval.from, facts.payer)) return 'eip2612_from_mismatch'
  if (!sameHex(approval.asset, signedPermitOf(facts).token)) return 'eip2612_asset_mismatch'
  if (!sameHex(approval.spender, PERMIT2)) return 'eip2612_spender_not_permit2'
  return approval.amount === facts.amount ? undefined : 'permit2_2612_amount_mismatch'
}
