import type { BatchMember } from '../../src/core/relayer/transaction.js'
import type { PaymentKey, LedgerStore, Submission } from '../../src/ledger/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { newNonce } from './sign-payment.js'
import { patchedLedger } from './patched-ledger.js'

/** What a ledger was told of a call that pays for nothing. */
export interface WrittenCall {
  readonly written: Submission[]
}

/** How such a call differs. */
export type CallOverrides = Partial<BatchMember> & {
  /** Is asked before it counts as written. */
  readonly writeAhead?: ((submission: Submission) => Promise<void>) | undefined
}

const calls = new Map<PaymentKey, WrittenCall & Pick<CallOverrides, 'writeAhead'>>()

/** A call of a batch that {@link withWrittenCalls} keeps account of. */
export function writtenCall(
  call: Pick<BatchMember, 'call' | 'gas'>,
  { writeAhead, ...overrides }: CallOverrides,
): WrittenCall & { readonly member: BatchMember } {
  const address = `0x${'11'.repeat(20)}` as const
  const key = { chainId: 84532, contract: address, from: address, nonce: newNonce() }
  const kept: WrittenCall = { written: [] }
  calls.set(key, { ...kept, writeAhead })
  const member = {
    key,
    isAlone: true,
    toSubmission: (submission: Submission) => submission,
    onWriteAhead: () => undefined,
    ...call,
    ...overrides,
  }
  return { member, ...kept }
}

/** A ledger that keeps account of such calls, as payments that are reserved before they are written. */
export function withWrittenCalls(ledger: LedgerStore): LedgerStore {
  const reserved = new Set<PaymentKey>()
  let reserving: Promise<unknown> = Promise.resolve()
  // Not while a transaction is signed: SQLite has one connection, and that is then in a transaction.
  const reserveAll = async (): Promise<void> => {
    const keys = [...calls.keys()].filter((key) => !reserved.has(key))
    for (const key of keys) reserved.add(key)
    const entries = keys.map((key) => ({
      ...key,
      asset: key.contract,
      payTo: key.from,
      value: 1n,
      validBefore: 2n ** 40n,
      scheme: 'exact',
    }))
    // Another transaction may have begun to reserve what this one sends.
    reserving = Promise.all([reserving, ...entries.map((one) => ledger.payments.reserve(one))])
    await reserving
  }
  const byTransaction = new Map<Hex, WrittenCall & Pick<CallOverrides, 'writeAhead'>>()
  const note = async (call: ReturnType<typeof calls.get>, submission: Submission) => {
    await call?.writeAhead?.(submission)
    call?.written.push(submission)
    if (call !== undefined) byTransaction.set(submission.transaction, call)
  }
  return patchedLedger(ledger, {
    async submitNext(account, leastNonce, sign) {
      await reserveAll()
      return ledger.relayers.submitNext(account, leastNonce, async (accountNonce) => {
        const signed = await sign(accountNonce)
        for (const { key, submission } of signed.members) await note(calls.get(key), submission)
        return signed
      })
    },
    async replaceTransaction(chainId, earlier, next) {
      await note(byTransaction.get(earlier), next)
      return ledger.relayers.replaceTransaction(chainId, earlier, next)
    },
  })
}
