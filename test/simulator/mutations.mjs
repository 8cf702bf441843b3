/**
 * @typedef {{ file: string, before: string, after: string }} Change A file is below `src/`.
 * @typedef {Change & { name: string, more?: readonly Change[], seeds?: number }} Mutation Where several checks stand behind one
 *   another, `more` has the others. `seeds` is how many find it, if it takes more than others.
 */

/**
 * Faults of the money path that the simulator must find, planted one at a time. Whoever mends a hole adds the mutation
 * that opens it again.
 *
 * @type {readonly Mutation[]}
 */
export const MUTATIONS = [
  {
    name: 'answers that failed are charged for',
    file: 'sell/flow/authorization-flow.ts',
    before: 'held.clientGone || end.status >= 400 || undelivered) return false',
    after: 'held.clientGone || undelivered) return false',
  },
  {
    name: 'an answer goes out though its payment is not settled',
    file: 'sell/flow/authorization-flow.ts',
    before: `if (settled.kind !== 'settled') return settled
  held.amend`,
    after: `if (settled.kind !== 'settled') return held.send(), { kind: 'over' }
  held.amend`,
  },
  {
    name: 'an answer goes out before the ledger has it that it does',
    file: 'sell/flow/authorization-flow.ts',
    before: 'const delivered = await deliver(settled, stored)\n  if (!held.clientGone)',
    after:
      'const delivered = settled; deliver(settled, stored).catch(() => 0)\n  if (!held.clientGone)',
  },
  {
    name: 'what is delivered is not written down',
    file: 'sell/flow/payment-attempt.ts',
    before: 'await reservation.markDelivered()',
    after: 'await Promise.resolve()',
  },
  {
    name: 'a failure to write a delivery down is ignored',
    file: 'sell/flow/payment-attempt.ts',
    before: 'await keys.id.keep(keys.id.kept)\n    throw error',
    after: 'await keys.id.keep(keys.id.kept)',
  },
  {
    name: 'a lock of another process is not respected',
    file: 'ledger/payments/statements.ts',
    before: 'AND (a.locked_until < ${now} OR a.lock_owner = excluded.lock_owner)',
    after: '',
  },
  {
    name: 'a payment that is locked is locked again',
    file: 'core/schemes/check-record.ts',
    before: 'if (!record.locked) return checkBuyer(record, presented)',
    after: 'if (record) return checkBuyer(record, presented)',
    more: [
      {
        file: 'ledger/payments/reservations.ts',
        before: 'AND (lock_owner IS NULL OR lock_owner = ${lock} OR locked_until < ${now})',
        after: '',
      },
    ],
  },
  {
    name: 'a payment that was delivered is locked again',
    file: 'core/schemes/check-record.ts',
    before: `if (record.delivered) return 'invalid_exact_evm_nonce_already_used'
  if (!record.locked) return`,
    after: 'if (record.delivered || !record.locked) return',
    more: [
      {
        file: 'ledger/payments/reservations.ts',
        before: `AND delivered = 0
          AND (state <> 'failed' OR reason = \${UNPAID} AND kind = 'payment')
          AND (lock_owner IS NULL OR lock_owner = \${lock} OR locked_until < \${now})`,
        after: '',
      },
    ],
  },
  {
    name: 'a payment is taken for less',
    file: 'core/schemes/evm/erc3009/erc3009.ts',
    before: "return 'invalid_exact_evm_payload_authorization_value_mismatch'",
    after: 'return undefined',
  },
  {
    name: 'a payment to somebody else is taken',
    file: 'core/schemes/evm/erc3009/erc3009.ts',
    before:
      "if (!sameHex(payTo, requirements.payTo)) return 'invalid_exact_evm_payload_recipient_mismatch'",
    after: '',
  },
  {
    name: 'a payment buys something else for the same price',
    file: 'core/schemes/check-record.ts',
    before:
      'if (!isSamePurchase(record, presented.entry)) return whyAnotherPurchase(record, presented.entry)',
    after: '',
    more: [
      {
        file: 'core/schemes/check-record.ts',
        before: 'return isSamePurchase(record, presented.entry) && isSameBuyer(record, presented)',
        after: 'return isSameBuyer(record, presented)',
      },
    ],
  },
  {
    name: 'what a reorganisation undid is not sent again',
    file: 'core/schemes/evm/confirm/reorg-watch.ts',
    before: 'await resendPayment(ledger, one, record)',
    after: '',
    more: [
      {
        file: 'core/relayer/resubmitter.ts',
        before: 'if (waitingNonce < pending.nextNonce) await this.#sendMissing(now, waitingNonce)',
        after: 'if (waitingNonce < pending.nextNonce) return minedNonce',
      },
    ],
  },
  {
    name: 'what has paid after all is not written down',
    file: 'core/schemes/evm/confirm/reorg-watch.ts',
    before: 'await this.#correct(one, record, use)',
    after: '',
  },
  {
    name: 'a payment fails while it may be mined',
    file: 'core/schemes/evm/confirm/outcome.ts',
    before: 'if (!isLapsed) return OPEN',
    after: '',
  },
  {
    name: 'a transaction without the transfer counts as paid',
    file: 'core/schemes/evm/erc3009/transfer-log.ts',
    before: 'if (use === undefined && sameHex(receipt.to, MULTICALL3)) return unpaid',
    after:
      "if (use === undefined) return { kind: 'paid', transaction, transfer: `${transaction}:0` }",
  },
  {
    name: 'what is open is not looked after',
    file: 'core/schemes/evm/confirm/reconciler.ts',
    before: 'await this.#revisitAll(page.filter(isSubmitted), unreachable)',
    after: '',
  },
  {
    name: 'whoever copies a payment from the chain gets what it buys',
    file: 'ledger/purchase.ts',
    before: `if (bound?.offer !== undefined || bound?.paymentId !== undefined)
    return bringsSameProof(record, entry)`,
    after: 'if (bound?.offer !== undefined || bound?.paymentId !== undefined) return true',
  },
  {
    name: 'a transaction is sent before it is written down',
    file: 'core/relayer/relayer.ts',
    before: 'const stored = write()\n    await stored',
    after: `const stored = write()
    stored.catch(() => 0)
    for (let ms = 0; written === undefined && ms < 50; ms++) await world.sleep(1)
    if (written === undefined) await stored`,
  },
  {
    name: 'a payment that is pending counts as settled',
    file: 'core/schemes/evm/settle/evm-reservation.ts',
    before:
      "return outcome.kind === 'open' ? this.#toPending(submission) : this.#toResponse(outcome)",
    after:
      "return outcome.kind === 'open' ? this.settledBy(submission.transaction) : this.#toResponse(outcome)",
  },
  {
    name: 'what nobody has received is delivered',
    file: 'sell/flow/authorization-flow.ts',
    before: 'if (held.clientGone && !isRepeatable) return reopen(settled)',
    after: '',
    more: [
      {
        file: 'sell/flow/authorization-flow.ts',
        before: 'else if (!isRepeatable) return undeliver(delivered)',
        after: '',
      },
    ],
  },
  {
    name: 'a process that does not answer is dead',
    file: 'ledger/owners/lock-owner.ts',
    before: 'const dead = others.length > 0 ? await this.#liveness.findDead(others) : []',
    after: 'const dead = others',
  },
  {
    name: 'an upfront good is handed out before the ledger has it',
    file: 'sell/flow/upfront-flow.ts',
    before: 'const delivered = await deliver(settled, answer)',
    after: 'const delivered = settled; deliver(settled, answer).catch(() => 0)',
  },
  {
    name: 'a payment is forgotten once the transaction that paid it was replaced',
    file: 'ledger/relayers/nonces.ts',
    before: 'return [transaction, ...replaces].map(lowerHex)',
    after: 'return [transaction].map(lowerHex)',
  },
  {
    name: 'a refund that is not settled yet takes nothing from its payment',
    file: 'ledger/refunds.ts',
    before: "refund.state !== 'failed' || nowSeconds <= heldUntil(refund)",
    after: "refund.state === 'settled'",
  },
  {
    name: 'a payment that is being used is refused for good',
    file: 'core/schemes/check-record.ts',
    before: "return isElsewhere && isSent ? 'settlement_pending' : 'duplicate_settlement'",
    after: "return 'invalid_exact_evm_nonce_already_used'",
  },
  {
    name: 'a permit is taken for less',
    file: 'core/schemes/evm/permit2/permit2.ts',
    before: "return 'permit2_amount_mismatch'",
    after: 'return undefined',
  },
  {
    name: 'the maximum is taken, whatever was charged',
    file: 'core/schemes/evm/permit2/calls.ts',
    before: 'word(charge ?? amount)',
    after: 'word(amount)',
  },
  {
    name: 'an answer that was charged for is not kept',
    file: 'sell/flow/authorization-flow.ts',
    before: 'if (charge !== undefined) await keepCharged(context, attempt, serialize())',
    after: '',
  },
  {
    name: 'more is paid back than was charged',
    file: 'ledger/refunds.ts',
    before: 'leftToRefund(amountOf(payment), others, nowSeconds)',
    after: 'leftToRefund(payment.value, others, nowSeconds)',
    more: [
      {
        file: 'api/refunds/refundable.ts',
        before: 'leftToRefund(amountOf(payment), others,',
        after: 'leftToRefund(payment.value, others,',
      },
    ],
  },
  {
    name: 'a facilitator is asked before the ledger knows that it is',
    file: 'core/facilitator/remote-reservation.ts',
    before:
      "await this.orElse('release', ledger.payments.submit(entry, REMOTE_SUBMISSION, entry.charged))",
    after: '',
  },
  {
    name: 'a facilitator that does not answer is said to have sent nothing',
    file: 'core/facilitator/remote-reservation.ts',
    before: 'if (isFacilitatorError(error) && error.isUnsent) await',
    after: 'if (error) await',
  },
  {
    name: 'a facilitator that says that it has paid is believed',
    file: 'core/schemes/evm/settle/facilitator-turn.ts',
    before: "if (asked === 'unsent') return asked",
    after: `if (asked === 'unsent') return asked
  if (asked === 'perhaps_sent') return { kind: 'paid', transaction: \`0x\${'11'.repeat(32)}\`, transfer: '' }`,
  },
  {
    name: 'a facilitator that misses its turn is waited for',
    file: 'core/schemes/evm/settle/evm-reservation.ts',
    before: "if (found !== 'unsent' && found.kind !== 'open') return found",
    after: "if (found !== 'unsent') return found",
  },
]
