/** Tokens that take a payer's signature themselves (ERC-3009). */
import { decodeFunctionData, padHex } from 'viem/utils'
import { AUTHORIZATION_CANCELED, AUTHORIZATION_USED, tokenAbi } from '../../../chain/abi.js'
import { sameHex } from '../../../../shared/protocol/hex.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import { diagnoseTransfer } from '../diagnose.js'
import { wordOf } from '../transfer/reads.js'
import { searchEvents } from '../transfer/search-events.js'
import type { TransferMethod } from '../transfer/transfer-method.js'
import { authorizationDigest } from './digest.js'
import {
  authorizationStateCall,
  separatorCall,
  separatorOf,
  toIsUsed,
  transferCall,
} from './token-calls.js'
import { judgeLogs, usesOf } from './transfer-log.js'

export const erc3009: TransferMethod = {
  name: 'eip3009',
  reasons: {
    used: 'invalid_exact_evm_nonce_already_used',
    badSignature: 'invalid_exact_evm_payload_signature',
    tooEarly: 'invalid_exact_evm_payload_authorization_valid_after',
    tooLate: 'invalid_exact_evm_payload_authorization_valid_before',
    notCovered: 'insufficient_funds',
    notAllowed: 'insufficient_funds',
    noToken: 'invalid_exact_evm_eip3009_not_supported',
    notDeployed: 'invalid_exact_evm_eip3009_not_supported',
    simulationFailed: 'invalid_exact_evm_transaction_simulation_failed',
  },
  takes: ({ separator }) => separator !== undefined,
  signatureOf: ({ signed }) => signed as Hex,
  checkTerms({ payTo, amount }, requirements) {
    if (!sameHex(payTo, requirements.payTo)) return 'invalid_exact_evm_payload_recipient_mismatch'
    if (amount !== BigInt(requirements.amount))
      return 'invalid_exact_evm_payload_authorization_value_mismatch'
    return undefined
  },
  digest: (facts, asset) => authorizationDigest(facts, separatorOf(asset)),
  call: transferCall,
  stateCall: authorizationStateCall,
  isUsed: toIsUsed,
  diagnose: (chain, asset, transfer) =>
    diagnoseTransfer(chain, transfer, {
      method: erc3009,
      asset,
      // Valid only after the one time, and only before the other.
      edge: 1n,
      own: separatorCall(asset),
      // The payer was asked to sign with our domain: it must be the token's own.
      judgeOwn(answer) {
        const domain = wordOf(answer)
        const isOther = domain !== undefined && domain !== BigInt(separatorOf(asset))
        return isOther ? 'invalid_payment_requirements' : undefined
      },
    }),
  judge: async (_network, receipt, payment) => judgeLogs(receipt, payment),
  usedIn: (receipt, payment) => usesOf(receipt, payment).length > 0,
  async findUses(chain, payment) {
    const { contract: address, from, nonce } = payment
    const topics = [[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], padHex(from), nonce]
    const last = await chain.getBlockNumber()
    const { transactions } = await searchEvents(chain, payment, {
      address,
      topics,
      last,
      isOne: true,
    })
    return {
      transactions: transactions.map(({ transaction }) => transaction),
      isComplete: transactions.length > 0,
    }
  },
  pays({ to, data }, { contract, from, nonce }) {
    if (!sameHex(to, contract)) return false
    try {
      const { functionName, args } = decodeFunctionData({ abi: tokenAbi, data })
      if (functionName !== 'transferWithAuthorization') return false
      return sameHex(args[0], from) && sameHex(args[5], nonce)
    } catch {
      return false
    }
  },
}
