import { describe, expect, it } from '@jest/globals'
import { ChainError, LedgerError, RelayerError } from '../../src/errors.js'
import { Batcher } from '../../src/relayer/batcher.js'
import type { BatchMember, SendResult, TransactionRequest } from '../../src/relayer/transaction.js'
import type { Submission } from '../../src/ledger/ledger.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { newNonce } from '../support/sign-payment.js'
import { patchedLedger } from '../support/patched-ledger.js'

const submissionOf = (count: number): Submission => ({
  transaction: `0x${count.toString(16).padStart(64, '0')}`,
  relayer: '0x00000000000000000000000000000000000000aa',
  accountNonce: count,
  raw: '0x02',
})

/** Transactions that are sent when the test says so, each written down before in one ledger. */
function openSending({ lanes = 1, canShare = true } = {}) {
  const sends: {
    readonly dispatch: TransactionRequest
    answer(sent: Partial<SendResult> | Error): void
  }[] = []
  const ledger = createMemoryLedger()
  const written: number[] = []
  let isAway = false
  const group = new Batcher({
    maxInFlight: () => lanes,
    canBatch: async () => canShare,
    ledger: patchedLedger(ledger, {
      submitTogether: async (members) => {
        if (isAway) throw new LedgerError('ledger_unavailable', 'away')
        written.push(members.length)
        return ledger.submitTogether(members)
      },
    }),
    async send(dispatch) {
      const submission = submissionOf(sends.length + 1)
      const answered = new Promise<SendResult>((resolve, reject) => {
        const answer = (sent: Partial<SendResult> | Error): void =>
          sent instanceof Error ? reject(sent) : resolve({ ...sent, submission } as SendResult)
        sends.push({ dispatch, answer })
      })
      answered.catch(() => undefined)
      await dispatch.writeAhead(submission)
      return answered
    },
  })

  /** A settlement whose payment is reserved, if it is to be. */
  const settlement = async (overrides: Partial<BatchMember> = {}, isReserved = true) => {
    const address = `0x${'22'.repeat(20)}` as const
    const key = { chainId: 1, asset: address, from: address, nonce: newNonce() }
    if (isReserved)
      await ledger.reserve({ ...key, payTo: address, value: 1n, validBefore: 2n ** 40n })
    const member: BatchMember = {
      key,
      call: { to: '0x00000000000000000000000000000000000000bb', data: '0x' },
      gas: 100_000n,
      toSubmission: (submission) => submission,
      onWriteAhead: () => undefined,
      canForget: () => true,
      ...overrides,
    }
    /** What the ledger knows of it. */
    const known = async (): Promise<Submission | undefined> => {
      const record = await ledger.find(key)
      return record?.state === 'submitted' ? record.submission : undefined
    }
    return { member, known }
  }
  const several = (count: number) => Promise.all(Array.from({ length: count }, () => settlement()))
  return {
    ...{ group, sends, ledger, settlement, several, written },
    goAway: (isGone = true) => void (isAway = isGone),
  }
}

const turn = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
}
const accepted = { kind: 'accepted' } as const

describe('settlements', () => {
  it('go alone when they come alone, as they are', async () => {
    const { group, sends, settlement } = openSending()
    const { member } = await settlement()
    const sent = group.send(member)
    await turn()
    expect(sends[0]!.dispatch).toMatchObject({ call: member.call, gas: member.gas })
    sends[0]!.answer(accepted)
    expect(await sent).toMatchObject({ kind: 'accepted', submission: submissionOf(1) })
  })

  it('that come while one is on its way share the next transaction, written down at once', async () => {
    const { group, sends, settlement, several, written } = openSending()
    const first = group.send((await settlement()).member)
    await turn()
    const others = await several(5)
    const rest = Promise.all(others.map(({ member }) => group.send(member)))
    await turn()
    expect(sends).toHaveLength(1)
    expect(group.waiting).toBe(5)
    sends[0]!.answer(accepted)
    await first
    await turn()
    expect(sends).toHaveLength(2)
    expect(written).toEqual([1, 5])
    expect(sends[1]!.dispatch.gas).toBeGreaterThanOrEqual(500_000n)
    sends[1]!.answer(accepted)
    for (const sent of await rest) expect(sent.submission).toEqual(submissionOf(2))
    for (const { known } of others) expect(await known()).toEqual(submissionOf(2))
  })

  it('are at most twenty in one transaction', async () => {
    const { group, sends, several } = openSending()
    const all = (await several(45)).map(({ member }) => group.send(member))
    for (const n of [0, 1, 2]) {
      await turn()
      sends[n]!.answer(accepted)
    }
    const transactions = (await Promise.all(all)).map(({ submission }) => submission.transaction)
    const sizes = [...new Set(transactions)].map(
      (one) => transactions.filter((other) => other === one).length,
    )
    expect(sizes).toEqual([20, 20, 5])
  })

  it('each go alone where there is no Multicall3', async () => {
    const { group, sends, several } = openSending({ lanes: 3, canShare: false })
    for (const { member } of await several(3)) void group.send(member)
    await turn()
    expect(sends.map(({ dispatch }) => dispatch.gas)).toEqual([100_000n, 100_000n, 100_000n])
  })

  it('that must go alone do, between those that share', async () => {
    const { group, sends, settlement } = openSending()
    const alone = await settlement({ isAlone: true, gas: 1n })
    const all = [await settlement(), alone, await settlement()]
    const sending = Promise.all(all.map(({ member }) => group.send(member)))
    await turn()
    sends[0]!.answer(accepted)
    await turn()
    sends[1]!.answer(accepted)
    const sent = await sending
    expect(sent.map(({ submission }) => submission.accountNonce)).toEqual([1, 2, 1])
    expect(sends[1]!.dispatch.gas).toBe(1n)
  })

  it('go out without one that is no longer held, of which nothing was written', async () => {
    const { group, sends, settlement, several } = openSending()
    const lost = await settlement({}, false)
    const kept = await several(2)
    const losing = group.send(lost.member)
    const keeping = kept.map(({ member }) => group.send(member))
    await expect(losing).rejects.toMatchObject({ code: 'ledger_unavailable' })
    await turn()
    for (const { known } of kept) expect(await known()).toEqual(submissionOf(2))
    sends[1]!.answer(accepted)
    for (const sent of await Promise.all(keeping)) expect(sent.submission).toEqual(submissionOf(2))
  })

  it('go out without one whose time is over', async () => {
    const { group, sends, settlement } = openSending()
    const late = new ChainError('chain_unreachable', 'too late')
    const left = await settlement({
      toSubmission: () => {
        throw late
      },
    })
    const kept = await settlement()
    const [leaving, keeping] = [group.send(left.member), group.send(kept.member)]
    await expect(leaving).rejects.toBe(late)
    await turn()
    sends[1]!.answer(accepted)
    expect(await keeping).toMatchObject({ submission: submissionOf(2) })
    expect(await left.known()).toBeUndefined()
  })

  it('are refused, all of them, while the ledger is away', async () => {
    const { group, several, goAway } = openSending()
    goAway()
    const all = await several(3)
    const sending = await Promise.allSettled(all.map(({ member }) => group.send(member)))
    for (const sent of sending)
      expect(sent).toMatchObject({ reason: { code: 'ledger_unavailable' } })
    for (const { known } of all) expect(await known()).toBeUndefined()
  })

  it('are replaced though the ledger was away when that was tried before', async () => {
    const { group, sends, several, ledger, goAway } = openSending()
    const all = await several(2)
    const sending = Promise.all(all.map(({ member }) => group.send(member)))
    await turn()
    sends[0]!.answer(accepted)
    await sending
    // One of them is settled meanwhile: it stays as it is, and the other is written.
    const first = submissionOf(1)
    await ledger.markSettled(all[0]!.member.key, first.transaction)
    const next = { ...submissionOf(9), accountNonce: 1, replaces: [first.transaction] }
    goAway()
    await expect(sends[0]!.dispatch.writeAhead(next)).rejects.toMatchObject({
      code: 'ledger_unavailable',
    })
    expect(await all[1]!.known()).toEqual(first)
    goAway(false)
    await sends[0]!.dispatch.writeAhead(next)
    expect(await all[1]!.known()).toEqual(next)
    expect(await ledger.find(all[0]!.member.key)).toMatchObject({ state: 'settled' })
  })

  it('are all taken back when no node was given their transaction', async () => {
    const { group, sends, several } = openSending()
    const all = await several(2)
    const sending = Promise.allSettled(all.map(({ member }) => group.send(member)))
    await turn()
    sends[0]!.answer(new RelayerError('gas_price_too_high', 'dear'))
    expect((await sending).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    for (const { known } of all) expect(await known()).toBeUndefined()
  })

  it('are all taken back when the node found their transaction too cheap', async () => {
    const { group, sends, several } = openSending()
    const all = await several(2)
    const sending = Promise.all(all.map(({ member }) => group.send(member)))
    await turn()
    sends[0]!.answer({ kind: 'rejected', cause: 'fee_too_low' })
    for (const sent of await sending) expect(sent.kind).toBe('rejected')
    for (const { known } of all) expect(await known()).toBeUndefined()
  })

  it('are none of them taken back where one is known to somebody: its bytes pay for all', async () => {
    const { group, sends, settlement } = openSending()
    const all = [await settlement(), await settlement({ canForget: () => false })]
    const sending = Promise.all(all.map(({ member }) => group.send(member)))
    await turn()
    sends[0]!.answer({ kind: 'rejected', cause: 'fee_too_low' })
    for (const sent of await sending)
      expect(sent).toEqual({ kind: 'unknown', submission: submissionOf(1) })
    for (const { known } of all) expect(await known()).toEqual(submissionOf(1))
  })

  it.each<{ name: string; answer: Partial<SendResult> | Error }>([
    { name: 'the node refuses', answer: { kind: 'rejected', cause: 'other' } },
    { name: 'no relayer can pay', answer: new RelayerError('relayer_without_funds', 'poor') },
  ])('whose transaction $name go each by itself', async ({ answer }) => {
    const { group, sends, several } = openSending()
    const all = await several(2)
    const sending = Promise.allSettled(all.map(({ member }) => group.send(member)))
    await turn()
    sends[0]!.answer(answer)
    await turn()
    sends[1]!.answer({ kind: 'rejected', cause: 'other' })
    await turn()
    // It is not forgotten before the other one has left the transaction that they shared.
    expect(await all[0]!.known()).toEqual(submissionOf(2))
    sends[2]!.answer(accepted)
    const [first, second] = await sending
    expect(first).toMatchObject({ value: { kind: 'rejected' } })
    expect(second).toMatchObject({ value: { kind: 'accepted', submission: submissionOf(3) } })
    expect(await all[0]!.known()).toBeUndefined()
    expect(await all[1]!.known()).toEqual(submissionOf(3))
  })

  it('are forgotten when going by themselves they could not even be written down', async () => {
    const { group, sends, several, goAway } = openSending()
    const all = await several(2)
    const sending = Promise.allSettled(all.map(({ member }) => group.send(member)))
    await turn()
    goAway()
    sends[0]!.answer({ kind: 'rejected', cause: 'other' })
    expect((await sending).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    for (const { known } of all) expect(await known()).toBeUndefined()
  })
})
