import type { Reason } from '../../protocol/reasons.js'

/** What is to be done about a payment that was not settled. */
export type Remedy = 'wait' | 'sign_again' | 'pay_otherwise' | 'mend_request' | 'look_up'

/** For every reason, what is to be done, and what it says. A reason that is missing does not compile. */
export const REASON_GUIDE: Readonly<Record<Reason, readonly [Remedy, string]>> = {
  settlement_pending: ['wait', 'The transaction is out; whether it is mined is not known yet'],
  duplicate_settlement: ['wait', 'Another request is settling this authorization at this moment'],

  invalid_exact_evm_nonce_already_used: [
    'look_up',
    'The authorization was settled or cancelled before; `transaction` tells by which transaction, where it is known',
  ],

  invalid_exact_evm_transfer_event_mismatch: [
    'look_up',
    'The transaction was mined, but the token did not move the money as authorized',
  ],

  unexpected_settle_error: [
    'look_up',
    'The facilitator behind this gateway refused the settlement, for a reason that cannot be passed on',
  ],
  unexpected_verify_error: [
    'pay_otherwise',
    'The facilitator behind this gateway refused the payment, for a reason that cannot be passed on',
  ],

  insufficient_funds: ['pay_otherwise', 'The payer holds too little of the token'],
  invalid_exact_evm_transaction_simulation_failed: [
    'pay_otherwise',
    'The token refuses the transfer, for none of the causes that have a reason of their own',
  ],
  payer_blacklisted: ['pay_otherwise', "The token's operator has blocked the payer"],
  token_paused: ['pay_otherwise', "The token's operator has paused all transfers"],
  contract_payer_not_accepted: [
    'pay_otherwise',
    'The payer is a contract, or delegates to one (EIP-7702): only accounts with a key can pay here',
  ],
  payer_temporarily_refused: [
    'pay_otherwise',
    'Transfers of this payer, or of accounts like it, have failed on chain; after a while it can pay again',
  ],
  settlement_too_expensive: [
    'pay_otherwise',
    "Checking the signature of the payer's account takes too much gas",
  ],
  invalid_transaction_state: ['pay_otherwise', 'The transaction failed, or no node took it'],
  eip6492_factory_not_allowed: [
    'pay_otherwise',
    'The account of the payer is yet to be deployed (ERC-6492)',
  ],

  invalid_exact_evm_payload_authorization_valid_before: [
    'sign_again',
    'The authorization lapsed, or will before it can be mined',
  ],
  invalid_exact_evm_payload_authorization_valid_after: [
    'sign_again',
    'The authorization is not valid yet',
  ],
  invalid_exact_evm_payload_signature: [
    'sign_again',
    "The signature is not the payer's over this authorization: mostly a wrong domain, or another chain id",
  ],
  invalid_exact_evm_payload_authorization_value_mismatch: [
    'sign_again',
    '`value` is not the `amount` of the offer',
  ],
  invalid_exact_evm_payload_recipient_mismatch: [
    'sign_again',
    '`to` is not the `payTo` of the offer',
  ],
  invalid_payload: ['sign_again', 'The payment does not have the shape that Step 5 shows'],
  invalid_x402_version: ['sign_again', '`x402Version` is not 2'],
  accepted_mismatch: ['sign_again', '`accepted` and the offer are not the same'],
  resource_mismatch: [
    'sign_again',
    'The payment names another resource than the paid route it is presented to',
  ],
  quote_mismatch: [
    'sign_again',
    '`extra.quote` of a paid route was given for another offer or resource',
  ],
  quote_expired: ['sign_again', '`extra.quote` of a paid route has expired'],
  payment_identifier_conflict: [
    'sign_again',
    'Another payment has the same id (extension `payment-identifier`)',
  ],

  pay_to_mismatch: ['mend_request', '`payTo` is not the settlement address of this project'],
  pay_to_blacklisted: ['mend_request', "The token's operator has blocked `payTo`"],
  unsupported_asset: ['mend_request', 'The project does not take this token'],
  unsupported_scheme: ['mend_request', 'The scheme is not `exact`'],
  invalid_network: ['mend_request', 'The chain is unknown, or the project does not take it'],
  invalid_payment_requirements: ['mend_request', 'The offer could never be settled'],
  invalid_exact_evm_eip3009_not_supported: [
    'mend_request',
    'The asset does not speak ERC-3009 on this chain',
  ],
}
