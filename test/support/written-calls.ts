import type { BatchMember } from '../../src/relayer/transaction.js'
import type { AuthorizationKey, LedgerStore, Submission } from '../../src/ledger/ledger.js'
import { newNonce } from './sign-payment.js'
import { patchedLedger } from './patched-ledger.js'

/** What a ledger was told of a call that pays for nothing. */
export interface WrittenCall {
  readonly written: Submission[]
  readonly takenBack: Submission[]
}

/** How such a call differs. */
export type CallOverrides = Partial<BatchMember> & {
  /** Is asked before it counts as written. */
  readonly writeAhead?: ((submission: Submission) => Promise<void>) | undefined
}

const calls = new WeakMap<AuthorizationKey, WrittenCall & Pick<CallOverrides, 'writeAhead'>>()

/** A call of a batch that {@link withWrittenCalls} keeps account of. */
export function writtenCall(
  call: Pick<BatchMember, 'call' | 'gas'>,
  { writeAhead, ...overrides }: CallOverrides,
): WrittenCall & { readonly member: BatchMember } {
  const address = `0x${'11'.repeat(20)}` as const
  const key = { chainId: 84532, asset: address, from: address, nonce: newNonce() }
  const kept: WrittenCall = { written: [], takenBack: [] }
  calls.set(key, { ...kept, writeAhead })
  const member = {
    key,
    isAlone: true,
    toSubmission: (submission: Submission) => submission,
    onWriteAhead: () => undefined,
    canForget: () => true,
    ...call,
    ...overrides,
  }
  return { member, ...kept }
}

/** A ledger that takes the calls of tests for held, and payments as they are. */
export function withWrittenCalls(ledger: LedgerStore): LedgerStore {
  return patchedLedger(ledger, {
    async submitTogether(members) {
      for (const { key, submission } of members) {
        const call = calls.get(key)
        await call?.writeAhead?.(submission)
        call?.written.push(submission)
      }
      return ledger.submitTogether(members.filter(({ key }) => !calls.has(key)))
    },
    async withdrawTogether(keys, transaction) {
      for (const key of keys) {
        const call = calls.get(key)
        const last = call?.written.at(-1)
        if (last?.transaction === transaction) call?.takenBack.push(last)
      }
      await ledger.withdrawTogether(
        keys.filter((key) => !calls.has(key)),
        transaction,
      )
    },
  })
}
