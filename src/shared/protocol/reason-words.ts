/** The meaning of each refusal: in words, and for a later request. */
import { PERMIT2 } from './contracts.js'
import type { SettleResponse, VerifyResponse } from './payment.js'
import type { Reason } from './reasons.js'

/** The same request can never succeed: it is invalid in itself, or its time is over. */
const FINAL = {
  invalid_payload: 'The payment does not have the form that its scheme requires.',
  invalid_x402_version: 'The payment uses another version of x402; this server accepts version 2.',
  unsupported_scheme: 'The payment uses a scheme that is not offered.',
  invalid_network: 'The merchant does not take payments on the network of this payment.',
  invalid_payment_requirements:
    'The payment accepts another offer than the one of this request, or one that cannot be settled.',
  invalid_exact_evm_payload_recipient_mismatch:
    'The authorization pays another address than the payTo of the offer.',
  invalid_exact_evm_payload_authorization_value_mismatch:
    'The authorization is for another amount than the offer.',
  invalid_exact_evm_payload_authorization_valid_before:
    'The authorization has lapsed, or will before it can be settled. Check the clock of the payer, and sign another one, valid for as long as maxTimeoutSeconds of the offer.',
  invalid_exact_evm_transfer_event_mismatch:
    'The transaction was mined, but did not move the money as authorized.',
  invalid_permit2_spender: 'The permit names another spender than that of the scheme.',
  invalid_permit2_recipient_mismatch:
    'The permit pays another address than the payTo of the offer.',
  permit2_amount_mismatch: 'The permit is for another amount than the offer.',
  permit2_token_mismatch: 'The permit is for another token than the offer.',
  permit2_deadline_expired:
    'The permit has lapsed, or will before it can be settled. Check the clock of the payer, and sign another one, valid for as long as maxTimeoutSeconds of the offer.',
  permit2_2612_amount_mismatch:
    'The sponsored approval (EIP-2612) is for another amount than the permit.',
  invalid_eip2612_extension_format:
    'The extension eip2612GasSponsoring of the payment does not have the form that it requires.',
  eip2612_from_mismatch: 'The sponsored approval (EIP-2612) is of another account than the payer.',
  eip2612_asset_mismatch: 'The sponsored approval (EIP-2612) is for another token than the permit.',
  eip2612_spender_not_permit2:
    'The sponsored approval (EIP-2612) names another spender than Permit2.',
  eip2612_deadline_expired:
    'The sponsored approval (EIP-2612) has lapsed, or will before it can be settled. Sign another one.',
  eip6492_factory_not_allowed:
    'The account of the payer is not deployed, and this server does not deploy it: its factory is not allowed here, or the payment is made by Permit2. Deploy the account first.',
  unsupported_asset: 'The merchant does not take this token.',
  self_send_not_allowed: 'The payer is the address that is paid: such a payment moves nothing.',
  pay_to_mismatch: 'The payment is made out to another address than that of the merchant.',
  upto_facilitator_mismatch:
    'The payment names a facilitator that settles nothing here now. Pay the offer of this response, which names the present one.',
  invalid_upto_evm_payload_settlement_exceeds_amount:
    'More was to be charged than the payer has signed for. Nothing was sent.',
  resource_mismatch: 'The payment names another resource than the one that is asked for.',
  extension_echo_mismatch:
    'The extension bazaar of the payment says something else than that of the offer. Send it back unchanged, or leave it out.',
  quote_mismatch:
    'The price was quoted for another request, merchant, amount or token. Pay the offer of this response.',
  quote_expired: 'The quoted price has expired. Pay the offer of this response.',
} as const

/**
 * The same request may succeed later, and nothing was sent for it: each is found out before a transaction
 * is made.
 */
const UNSENT = {
  invalid_exact_evm_payload_authorization_valid_after:
    'The authorization is not valid yet: its validAfter is in the future. Check the clock of the payer.',
  invalid_exact_evm_payload_signature:
    "The signature is not one of the payer over this authorization, or the code of the payer's account refuses it (ERC-1271, EIP-7702). Check that code, and the EIP-712 domain of the token: name, version, chain and contract.",
  insufficient_funds: 'The payer does not have enough of the token.',
  invalid_exact_evm_eip3009_not_supported:
    'The token does not support transfers by authorization (ERC-3009) on this network.',
  permit2_not_yet_valid:
    'The permit is not valid yet: its validAfter is in the future. Check the clock of the payer.',
  invalid_permit2_signature:
    'The signature is not one of the payer over this permit. Check the EIP-712 domain of Permit2 (name and chain, no version), the spender and the witness.',
  permit2_allowance_required: `The payer has not allowed Permit2 to take enough of the token. Approve ${PERMIT2} at the token, once, or send a sponsored approval (EIP-2612) where the offer has the extension eip2612GasSponsoring.`,
  permit2_insufficient_balance: 'The payer does not have enough of the token.',
  permit2_proxy_not_deployed: 'Permit2, or the spender of x402, does not exist on this network.',
  asset_not_deployed_contract: 'The token does not exist on this network.',
  payment_identifier_conflict: 'Another payment has this payment-identifier. Take a new one.',
  smart_wallet_deployment_failed:
    'The call that came with the signature (ERC-6492) does not deploy the account of the payer.',
  contract_payer_not_accepted: 'Payments from accounts with code are not taken here.',
  payer_temporarily_refused:
    'Earlier transfers of this payer failed on chain. Its payments are refused for some time.',
  settlement_too_expensive:
    'Settling the payment would take more gas than this server pays for, or pays for this seller today.',
  payer_blacklisted: 'The operator of the token has blocked the payer.',
  pay_to_blacklisted: 'The operator of the token has blocked the address of the merchant.',
  token_paused: 'The operator of the token has paused it.',
  merchant_paused: 'The merchant takes no payments for now. Try again later.',
  payment_declined: 'The seller has declined this payment. Nothing was charged.',
} as const

/**
 * The ledger decides when it is asked again. A payment that was settled is free again if its client
 * disconnected before its answer.
 */
const UNDECIDED = {
  invalid_exact_evm_nonce_already_used:
    'The authorization was settled or cancelled before. Sign another one for another purchase.',
  permit2_invalid_nonce:
    'The nonce of the permit was used or cancelled before. Sign another one for another purchase.',
  duplicate_settlement:
    'Another request is being paid with this authorization. Wait for that one, or sign another authorization.',
  settlement_pending:
    'The payment was accepted, and is not known to be mined yet. Present the same payment again; do not sign another.',
} as const

/**
 * The same request may succeed later, but something may have been sent for it: a transaction that is out
 * makes a simulation fail, too.
 */
const OTHER = {
  invalid_transaction_state: 'The transaction failed on chain; the merchant was not paid.',
  unexpected_verify_error:
    'The facilitator refused the payment for a reason that is not known here.',
  unexpected_settle_error:
    'The facilitator did not settle the payment, for a reason that is not known here.',
  invalid_exact_evm_transaction_simulation_failed: 'The token refuses the transfer.',
  permit2_simulation_failed: 'Permit2 or the token refuses the transfer.',
  price_changed:
    'The payment was made at another price of this resource, and buys nothing here. If it was charged, ask the seller for a refund; otherwise pay the offer of this response.',
} as const

const WORDS: Readonly<Record<Reason, string>> = { ...FINAL, ...UNSENT, ...UNDECIDED, ...OTHER }

/** Tells whether a later request may find the payment settled, or free. */
export const isUndecided = (reason: Reason): boolean => Object.hasOwn(UNDECIDED, reason)

/** Tells whether the same request can never succeed. */
export const isFinal = (reason: Reason): boolean => Object.hasOwn(FINAL, reason)

/** Tells whether a facilitator that refuses a payment for this reason has sent nothing for it. */
export const isUnsent = (reason: Reason): boolean =>
  isFinal(reason) || Object.hasOwn(UNSENT, reason)

/** Explains a reason; `undefined` for an unknown one of another facilitator. */
export function explainReason(reason: string): string | undefined {
  return Object.hasOwn(WORDS, reason) ? WORDS[reason as Reason] : undefined
}

interface Refused {
  readonly reason: Reason
  /** More precise than the reason's own message. */
  readonly message?: string | undefined
  readonly payer?: string | undefined
}

export function invalidResponse({ reason, message, payer }: Refused): VerifyResponse {
  const invalidMessage = message ?? explainReason(reason)
  return {
    isValid: false,
    invalidReason: reason,
    ...(invalidMessage !== undefined && { invalidMessage }),
    ...(payer !== undefined && { payer }),
  }
}

interface Unsettled extends Refused {
  readonly network: string
  readonly transaction?: string | undefined
  readonly settledBy?: string | undefined
}

/** Makes the answer of settle for a payment that was not settled or may not be. */
export function unsettledResponse({
  reason,
  message,
  payer,
  network,
  transaction = '',
  settledBy,
}: Unsettled): Extract<SettleResponse, { success: false }> {
  const errorMessage = message ?? explainReason(reason)
  return {
    success: false,
    errorReason: reason,
    ...(errorMessage !== undefined && { errorMessage }),
    transaction,
    ...(settledBy && { settledBy }),
    network,
    ...(payer !== undefined && { payer }),
  }
}
