import { describe, expect, it } from '@jest/globals'
import { ChainError, LedgerError, RelayerError } from '../../../src/shared/errors.js'
import { Batcher } from '../../../src/core/relayer/batcher.js'
import { ExpectedCalls } from '../../../src/core/relayer/expected-calls.js'
import {
  LostLocks,
  type BatchMember,
  type SendResult,
  type TransactionRequest,
} from '../../../src/core/relayer/transaction.js'
import type { Submission } from '../../../src/ledger/index.js'
import { lockLost } from '../../../src/ledger/record.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { newNonce } from '../../support/sign-payment.js'

const submissionOf = (accountNonce: number): Submission => ({
  transaction: `0x${accountNonce.toString(16).padStart(64, '0')}`,
  relayer: '0x00000000000000000000000000000000000000aa',
  accountNonce,
  raw: '0x02',
})

/** Transactions that are sent when the test says so, each written down before in one ledger. */
function openSending({
  maxSending = 1,
  canShare = true,
  gatherMs = 4,
}: { maxSending?: number; canShare?: boolean; gatherMs?: number } = {}) {
  const sends: {
    readonly request: TransactionRequest
    answer(sent: Partial<SendResult> | Error): void
  }[] = []
  const ledger = createMemoryLedger()
  const written: number[] = []
  let isDown = false
  const expected = new ExpectedCalls()
  const batcher = new Batcher({
    maxSending,
    gatherMs,
    expected,
    whenReady: async () => undefined,
    canBatch: async () => canShare,
    async send(request) {
      const submission = submissionOf(sends.length + 1)
      const answered = new Promise<SendResult>((resolve, reject) => {
        const answer = (sent: Partial<SendResult> | Error): void =>
          sent instanceof Error ? reject(sent) : resolve({ ...sent, submission } as SendResult)
        sends.push({ request, answer })
      })
      answered.catch(() => undefined)
      const stored: Promise<void> = (async () => {
        if (isDown) throw new LedgerError('ledger_unavailable', 'down')
        const account = { chainId: 1, relayer: submission.relayer }
        const lost = await ledger.relayers.submitNext(
          account,
          submission.accountNonce,
          async () => {
            const members = request.members(submission, stored)
            written.push(members.length)
            return { submission, members }
          },
        )
        if (lost.length > 0) throw new LostLocks(new Map(lost.map((key) => [key, lockLost()])))
      })()
      await stored
      return answered
    },
  })

  /** A settlement whose payment is reserved, if it is to be. */
  const settlement = async (overrides: Partial<BatchMember> = {}, isReserved = true) => {
    const address = `0x${'22'.repeat(20)}` as const
    const key = { chainId: 1, contract: address, from: address, nonce: newNonce() }
    if (isReserved)
      await ledger.payments.reserve({
        ...{ ...key, asset: address, payTo: address },
        ...{ scheme: 'exact', value: 1n, validBefore: 2n ** 40n },
      })
    const member: BatchMember = {
      key,
      call: { to: '0x00000000000000000000000000000000000000bb', data: '0x' },
      gas: 100_000n,
      toSubmission: (submission) => submission,
      onWriteAhead: () => undefined,
      ...overrides,
    }
    /** What the ledger knows of it. */
    const known = async (): Promise<Submission | undefined> => {
      const record = await ledger.payments.find(key)
      return record?.state === 'submitted' ? record.submission : undefined
    }
    return { member, known }
  }
  const several = (count: number) => Promise.all(Array.from({ length: count }, () => settlement()))
  return {
    ...{ batcher, expected, sends, ledger, settlement, several, written },
    goDown: (isGone = true) => void (isDown = isGone),
  }
}

const turn = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
}
const accepted = { kind: 'accepted' } as const

/** Milliseconds after which a test has long failed. */
const LONG_MS = 60_000

describe('Batcher', () => {
  it('sends a settlement that comes alone at once and unchanged', async () => {
    const { batcher, sends, settlement } = openSending()
    const { member } = await settlement()
    const sent = batcher.send(member)
    await turn()
    expect(sends[0]!.request).toMatchObject({ call: member.call, gas: member.gas })
    sends[0]!.answer(accepted)
    expect(await sent).toMatchObject({ kind: 'accepted', submission: submissionOf(1) })
  })

  it('sends settlements that come during a send in one transaction, recorded in one write', async () => {
    const { batcher, sends, settlement, several, written } = openSending()
    const first = batcher.send((await settlement()).member)
    await turn()
    const others = await several(5)
    const rest = Promise.all(others.map(({ member }) => batcher.send(member)))
    await turn()
    expect(sends).toHaveLength(1)
    expect(batcher.waiting).toBe(5)
    sends[0]!.answer(accepted)
    await first
    await turn()
    expect(sends).toHaveLength(2)
    expect(written).toEqual([1, 5])
    expect(sends[1]!.request.gas).toBeGreaterThanOrEqual(500_000n)
    sends[1]!.answer(accepted)
    for (const sent of await rest) expect(sent.submission).toEqual(submissionOf(2))
    for (const { known } of others) expect(await known()).toEqual(submissionOf(2))
  })

  it('waits for a settlement that is being verified, and sends both in one transaction', async () => {
    const { batcher, expected, sends, several, written } = openSending({ gatherMs: LONG_MS })
    const [one, other] = await several(2)
    const end = expected.begin()
    const first = batcher.send(one!.member)
    await turn()
    expect(sends).toHaveLength(0)
    end()
    const second = batcher.send(other!.member)
    await turn()
    expect(written).toEqual([2])
    sends[0]!.answer(accepted)
    expect(await first).toEqual(await second)
  })

  it('waits no longer for a settlement that was refused', async () => {
    const { batcher, expected, sends, settlement, written } = openSending({ gatherMs: LONG_MS })
    const { member } = await settlement()
    const end = expected.begin()
    const sent = batcher.send(member)
    await turn()
    expect(sends).toHaveLength(0)
    end()
    await turn()
    expect(written).toEqual([1])
    sends[0]!.answer(accepted)
    await sent
  })

  it('does not wait for the end of a verification that takes long', async () => {
    const { batcher, expected, sends, settlement } = openSending()
    const { member } = await settlement()
    expected.begin()
    const sent = batcher.send(member)
    while (sends.length === 0) await turn()
    expect(sends).toHaveLength(1)
    sends[0]!.answer(accepted)
    await sent
  })

  it('waits for no other settlement once twenty have come', async () => {
    const { batcher, expected, sends, several, written } = openSending({ gatherMs: LONG_MS })
    expected.begin()
    const first = await several(1)
    const others = await several(19)
    const sent = [batcher.send(first[0]!.member)]
    await turn()
    expect(sends).toHaveLength(0)
    sent.push(...others.map(({ member }) => batcher.send(member)))
    await turn()
    expect(written).toEqual([20])
    sends[0]!.answer(accepted)
    await Promise.all(sent)
  })

  it('waits for no verification where there is no Multicall3, or where the settlement must go alone', async () => {
    for (const { canShare, isAlone } of [
      { canShare: false, isAlone: false },
      { canShare: true, isAlone: true },
    ]) {
      const { batcher, expected, sends, settlement } = openSending({ canShare, gatherMs: LONG_MS })
      expected.begin()
      const sent = batcher.send((await settlement({ isAlone })).member)
      await turn()
      expect(sends).toHaveLength(1)
      sends[0]!.answer(accepted)
      await sent
    }
  })

  it('puts at most twenty settlements into one transaction', async () => {
    const { batcher, sends, several } = openSending()
    const all = (await several(45)).map(({ member }) => batcher.send(member))
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

  it('sends each settlement alone where there is no Multicall3', async () => {
    const { batcher, sends, several } = openSending({ maxSending: 3, canShare: false })
    for (const { member } of await several(3)) void batcher.send(member)
    await turn()
    expect(sends.map(({ request }) => request.gas)).toEqual([100_000n, 100_000n, 100_000n])
  })

  it('sends a settlement that must go alone in a transaction of its own', async () => {
    const { batcher, sends, settlement } = openSending()
    const alone = await settlement({ isAlone: true, gas: 1n })
    const all = [await settlement(), alone, await settlement()]
    const sending = Promise.all(all.map(({ member }) => batcher.send(member)))
    await turn()
    sends[0]!.answer(accepted)
    await turn()
    sends[1]!.answer(accepted)
    const sent = await sending
    expect(sent.map(({ submission }) => submission.accountNonce)).toEqual([1, 2, 1])
    expect(sends[1]!.request.gas).toBe(1n)
  })

  it('leaves out a settlement that lost its lock, and records nothing for it', async () => {
    const { batcher, sends, settlement, several } = openSending()
    const lost = await settlement({}, false)
    const kept = await several(2)
    const losing = batcher.send(lost.member)
    const keeping = kept.map(({ member }) => batcher.send(member))
    await expect(losing).rejects.toMatchObject({ code: 'ledger_unavailable' })
    await turn()
    for (const { known } of kept) expect(await known()).toEqual(submissionOf(2))
    sends[1]!.answer(accepted)
    for (const sent of await Promise.all(keeping)) expect(sent.submission).toEqual(submissionOf(2))
  })

  it('leaves out a settlement whose time is over', async () => {
    const { batcher, sends, settlement } = openSending()
    const late = new ChainError('chain_unreachable', 'too late')
    const left = await settlement({
      toSubmission: () => {
        throw late
      },
    })
    const kept = await settlement()
    const [leaving, keeping] = [batcher.send(left.member), batcher.send(kept.member)]
    await expect(leaving).rejects.toBe(late)
    await turn()
    sends[1]!.answer(accepted)
    expect(await keeping).toMatchObject({ submission: submissionOf(2) })
    expect(await left.known()).toBeUndefined()
  })

  it('refuses all settlements while the ledger is unavailable', async () => {
    const { batcher, several, goDown } = openSending()
    goDown()
    const all = await several(3)
    const sending = await Promise.allSettled(all.map(({ member }) => batcher.send(member)))
    for (const sent of sending)
      expect(sent).toMatchObject({ reason: { code: 'ledger_unavailable' } })
    for (const { known } of all) expect(await known()).toBeUndefined()
  })

  it('keeps all records when their transaction could not be sent: their bytes are written down', async () => {
    const { batcher, sends, several } = openSending()
    const all = await several(2)
    const sending = Promise.allSettled(all.map(({ member }) => batcher.send(member)))
    await turn()
    sends[0]!.answer(new RelayerError('gas_price_too_high', 'too high'))
    expect((await sending).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    for (const { known } of all) expect(await known()).toEqual(submissionOf(1))
  })

  it('calls a transaction unknown that the node has rejected, and keeps its records', async () => {
    const { batcher, sends, several } = openSending()
    const all = await several(2)
    const sending = Promise.all(all.map(({ member }) => batcher.send(member)))
    await turn()
    sends[0]!.answer({ kind: 'rejected', cause: 'fee_too_low' })
    for (const sent of await sending)
      expect(sent).toEqual({ kind: 'unknown', submission: submissionOf(1) })
    for (const { known } of all) expect(await known()).toEqual(submissionOf(1))
  })

  it.each<{ name: string; answer: Partial<SendResult> | Error }>([
    { name: 'the node rejects their batch', answer: { kind: 'rejected', cause: 'other' } },
    {
      name: 'no relayer can pay for their batch',
      answer: new RelayerError('relayer_without_funds', 'poor'),
    },
  ])('sends each settlement alone after $name', async ({ answer }) => {
    const { batcher, sends, several } = openSending()
    const all = await several(2)
    const sending = Promise.allSettled(all.map(({ member }) => batcher.send(member)))
    await turn()
    sends[0]!.answer(answer)
    await turn()
    sends[1]!.answer({ kind: 'rejected', cause: 'other' })
    await turn()
    sends[2]!.answer(accepted)
    const [first, second] = await sending
    expect(first).toMatchObject({ value: { kind: 'unknown', submission: submissionOf(2) } })
    expect(second).toMatchObject({ value: { kind: 'accepted', submission: submissionOf(3) } })
    expect(await all[0]!.known()).toEqual(submissionOf(2))
    expect(await all[1]!.known()).toEqual(submissionOf(3))
  })
})
