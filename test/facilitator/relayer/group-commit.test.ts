import { describe, expect, it } from '@jest/globals'
import { LedgerError, RelayerError } from '../../../src/errors.js'
import { createGroupCommit } from '../../../src/facilitator/relayer/group-commit.js'
import type { Dispatch, Dispatched } from '../../../src/facilitator/relayer/relayer.js'
import type { Submission } from '../../../src/ledger/ledger.js'

const submissionOf = (count: number): Submission => ({
  transaction: `0x${count.toString(16).padStart(64, '0')}`,
  relayer: '0x00000000000000000000000000000000000000aa',
  transactionCount: count,
  raw: '0x02',
})

/** Transactions that are sent when the test says so, each written down before. */
function openSending(lanes = 1, canShare = true) {
  const sends: { readonly dispatch: Dispatch; answer(sent: Partial<Dispatched> | Error): void }[] =
    []
  const group = createGroupCommit({
    lanes: () => lanes,
    canShare: async () => canShare,
    async send(dispatch) {
      const submission = submissionOf(sends.length + 1)
      const answered = new Promise<Dispatched>((resolve, reject) => {
        const answer = (sent: Partial<Dispatched> | Error): void =>
          sent instanceof Error ? reject(sent) : resolve({ ...sent, submission } as Dispatched)
        sends.push({ dispatch, answer })
      })
      await dispatch.writeAhead(submission)
      const sent = await answered.catch(async (error: unknown) => {
        await dispatch.takeBack(submission)
        throw error
      })
      if (sent.outcome === 'rejected') await dispatch.takeBack(submission)
      return sent
    },
  })
  return { group, sends }
}

/** A settlement; what its ledger knows of it is kept. */
function settlement(overrides: Partial<Dispatch> = {}) {
  const known: { submission?: Submission | undefined } = {}
  const dispatch: Dispatch = {
    call: { to: '0x00000000000000000000000000000000000000bb', data: '0x' },
    gas: 100_000n,
    writeAhead: async (submission) => void (known.submission = submission),
    takeBack: async ({ transaction }) => {
      if (known.submission?.transaction === transaction) known.submission = undefined
    },
    ...overrides,
  }
  return { dispatch, known }
}

const turn = async (): Promise<void> => {
  for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve))
}
const accepted = { outcome: 'accepted' } as const

describe('settlements', () => {
  it('go alone when they come alone, as they are', async () => {
    const { group, sends } = openSending()
    const { dispatch } = settlement()
    const sent = group.send(dispatch)
    await turn()
    expect(sends[0]!.dispatch).toMatchObject({ call: dispatch.call, gas: dispatch.gas })
    sends[0]!.answer(accepted)
    expect(await sent).toMatchObject({ outcome: 'accepted', submission: submissionOf(1) })
  })

  it('that come while one is on its way share the next transaction', async () => {
    const { group, sends } = openSending()
    const first = group.send(settlement().dispatch)
    await turn()
    const others = Array.from({ length: 5 }, () => settlement())
    const rest = Promise.all(others.map(({ dispatch }) => group.send(dispatch)))
    await turn()
    expect(sends).toHaveLength(1)
    expect(group.waiting).toBe(5)
    sends[0]!.answer(accepted)
    await first
    await turn()
    expect(sends).toHaveLength(2)
    expect(sends[1]!.dispatch.gas).toBeGreaterThanOrEqual(500_000n)
    sends[1]!.answer(accepted)
    for (const sent of await rest) expect(sent.submission).toEqual(submissionOf(2))
    for (const { known } of others) expect(known.submission).toEqual(submissionOf(2))
  })

  it('are at most twenty in one transaction', async () => {
    const { group, sends } = openSending()
    const all = Array.from({ length: 45 }, () => group.send(settlement().dispatch))
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
    const { group, sends } = openSending(3, false)
    for (let n = 0; n < 3; n++) void group.send(settlement().dispatch)
    await turn()
    expect(sends.map(({ dispatch }) => dispatch.gas)).toEqual([100_000n, 100_000n, 100_000n])
  })

  it('that must go alone do, between those that share', async () => {
    const { group, sends } = openSending()
    const alone = settlement({ isAlone: true, gas: 1n })
    const all = [settlement(), alone, settlement()].map(({ dispatch }) => group.send(dispatch))
    await turn()
    sends[0]!.answer(accepted)
    await turn()
    sends[1]!.answer(accepted)
    const sent = await Promise.all(all)
    expect(sent.map(({ submission }) => submission.transactionCount)).toEqual([1, 2, 1])
    expect(sends[1]!.dispatch.gas).toBe(1n)
  })

  it('go out without one that cannot be written down', async () => {
    const { group, sends } = openSending()
    const failure = new LedgerError('ledger_unavailable', 'away')
    const lost = settlement({ writeAhead: () => Promise.reject(failure) })
    const kept = settlement()
    const [losing, keeping] = [group.send(lost.dispatch), group.send(kept.dispatch)]
    await expect(losing).rejects.toBe(failure)
    await turn()
    sends[1]!.answer(accepted)
    expect(await keeping).toMatchObject({ submission: submissionOf(2) })
    expect(kept.known.submission).toEqual(submissionOf(2))
  })

  it('are all taken back when no node was given their transaction', async () => {
    const { group, sends } = openSending()
    const all = [settlement(), settlement()]
    const sending = Promise.allSettled(all.map(({ dispatch }) => group.send(dispatch)))
    await turn()
    sends[0]!.answer(new RelayerError('gas_price_too_high', 'dear'))
    expect((await sending).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    for (const { known } of all) expect(known.submission).toBeUndefined()
  })

  it('are all taken back when the node found their transaction too cheap', async () => {
    const { group, sends } = openSending()
    const all = [settlement(), settlement()]
    const sending = Promise.all(all.map(({ dispatch }) => group.send(dispatch)))
    await turn()
    sends[0]!.answer({ outcome: 'rejected', because: 'fee_too_low' })
    for (const sent of await sending) expect(sent.outcome).toBe('rejected')
    for (const { known } of all) expect(known.submission).toBeUndefined()
  })

  it.each<{ name: string; answer: Partial<Dispatched> | Error }>([
    { name: 'the node refuses', answer: { outcome: 'rejected', because: 'other' } },
    { name: 'no relayer can pay', answer: new RelayerError('relayer_without_funds', 'poor') },
  ])('whose transaction $name go each by itself', async ({ answer }) => {
    const { group, sends } = openSending()
    const all = [settlement(), settlement()]
    const sending = Promise.allSettled(all.map(({ dispatch }) => group.send(dispatch)))
    await turn()
    sends[0]!.answer(answer)
    await turn()
    sends[1]!.answer(accepted)
    await turn()
    sends[2]!.answer({ outcome: 'rejected', because: 'other' })
    const [first, second] = await sending
    expect(first).toMatchObject({ value: { outcome: 'accepted', submission: submissionOf(2) } })
    expect(second).toMatchObject({ value: { outcome: 'rejected' } })
    expect(all.map(({ known }) => known.submission)).toEqual([submissionOf(2), undefined])
  })

  it('are forgotten when going by themselves they could not even be written down', async () => {
    const { group, sends } = openSending()
    let isAway = false
    const one = settlement()
    const failing: Dispatch = {
      ...one.dispatch,
      writeAhead: async (submission) => {
        if (isAway) throw new LedgerError('ledger_unavailable', 'away')
        await one.dispatch.writeAhead(submission)
      },
    }
    const sending = Promise.allSettled([group.send(failing), group.send(settlement().dispatch)])
    await turn()
    isAway = true
    sends[0]!.answer({ outcome: 'rejected', because: 'other' })
    await turn()
    sends.at(-1)!.answer(accepted)
    expect((await sending).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect(one.known.submission).toBeUndefined()
  })
})
