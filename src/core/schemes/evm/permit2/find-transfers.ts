/** Finds the transfers by which a permit may have been used. Permit2 itself logs nothing. */
import { padHex } from 'viem/utils'
import { TRANSFER, word } from '../../../chain/abi.js'
import type { Chain } from '../../../chain/chain.js'
import { amountOf } from '../../../../ledger/record.js'
import { searchEvents, type FoundEvents } from '../transfer/search-events.js'
import type { JudgedPayment } from '../transfer/transfer-method.js'

/**
 * Finds the transactions that moved the amount from payer to payee while the payment could be made: after it was
 * reserved, and before its deadline.
 */
export async function findTransfers(chain: Chain, payment: JudgedPayment): Promise<FoundEvents> {
  const { asset: address, from, payTo, validBefore } = payment
  const topics = [TRANSFER, padHex(from), padHex(payTo)]
  const data = `0x${word(amountOf(payment))}` as const
  const last = (await chain.findBlockSince(validBefore + 1n)) - 1n
  return searchEvents(chain, payment, { address, topics, data, last })
}
