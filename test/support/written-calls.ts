import type { BatchMember } from '../../src/relayer/transaction.js'
import type { AuthorizationKey, LedgerStore, Submission } from '../../src/ledger/index.js'
import type { Hex } from '../../src/protocol/payment.js'
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

const calls = new WeakMap<AuthorizationKey, WrittenCall & Pick<CallOverrides, 'writeAhead'>>()

/** A call of a batch that {@link withWrittenCalls} keeps account of. */
export function writtenCall(
  call: Pick<BatchMember, 'call' | 'gas'>,
  { writeAhead, ...overrides }: CallOverrides,
): WrittenCall & { readonly member: BatchMember } {
  const address = `0x${'11'.repeat(20)}` as const
  const key = { chainId: 84532, asset: address, from: address, nonce: newNonce() }
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

/** A ledger that keeps account of such calls, as payments that are reserved when they are written. */
export function withWrittenCalls(ledger: LedgerStore): LedgerStore {
  const byTransaction = new Map<Hex, WrittenCall & Pick<CallOverrides, 'writeAhead'>>()
  const note = async (call: ReturnType<typeof calls.get>, submission: Submission) => {
    await call?.writeAhead?.(submission)
    call?.written.push(submission)
    if (call !== undefined) byTransaction.set(submission.transaction, call)
  }
  return patchedLedger(ledger, {
    submitNext: (account, leastNonce, sign) =>
      ledger.relayers.submitNext(account, leastNonce, async (accountNonce) => {
        const signed = await sign(accountNonce)
        for (const { key, submission } of signed.members) {
          const call = calls.get(key)
          await note(call, submission)
          if (call !== undefined)
            await ledger.payments.reserve({
              ...key,
              payTo: key.from,
              value: 1n,
              validBefore: 2n ** 40n,
            })
        }
        return signed
      }),
    async replaceTransaction(chainId, earlier, next) {
      await note(byTransaction.get(earlier), next)
      return ledger.relayers.replaceTransaction(chainId, earlier, next)
    },
  })
}
