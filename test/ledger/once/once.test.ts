import type { ServerResponse } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { once, type KeyClaim, type OnceContext } from '../../../src/ledger/once/once.js'
import type { IdempotencyStore } from '../../../src/ledger/once/store.js'
import { bound } from '../../support/patched-ledger.js'

const REQUEST = { key: 'key', fingerprint: 'this' }

/** A context that collects what is logged as an error. */
function openContext(idempotency: IdempotencyStore = createMemoryLedger().idempotency) {
  const errors: string[] = []
  const ignore = (): void => undefined
  const logger = {
    ...{ debug: ignore, info: ignore, warn: ignore },
    error: (message: string) => void errors.push(message),
  }
  const context: OnceContext = { idempotency, settleTimeoutMs: 50, logger }
  return { context, errors }
}

const finish = (claim: KeyClaim): Promise<void> => claim.finish('stored')

describe('once', () => {
  it('gives later requests the stored answer of the first one', async () => {
    const { context } = openContext()
    expect(await once(context, REQUEST, finish)).toMatchObject({ kind: 'produced' })
    const repeated = await once(context, REQUEST, () => Promise.reject(new Error('runs twice')))
    expect(repeated).toEqual({ kind: 'repeated', stored: 'stored' })
  })

  it('refuses another request with the same key', async () => {
    const { context } = openContext()
    await once(context, REQUEST, finish)
    const other = { ...REQUEST, fingerprint: 'that' }
    expect(await once(context, other, finish)).toEqual({ kind: 'conflict', request: other })
  })

  it('is busy if the first request runs for longer than the wait', async () => {
    const { context } = openContext()
    let end = (): void => undefined
    const first = once(context, REQUEST, () => new Promise<void>((resolve) => (end = resolve)))
    expect(await once(context, REQUEST, finish)).toEqual({ kind: 'busy', request: REQUEST })
    end()
    await first
  })

  it.each([
    ['returns without an answer', () => Promise.resolve()],
    ['throws', () => Promise.reject(new Error('It failed.'))],
  ])('lets the same request, and no other, run again after one that %s', async (_how, produce) => {
    const { context } = openContext()
    await once(context, REQUEST, produce).catch(() => undefined)
    const other = { ...REQUEST, fingerprint: 'that' }
    expect(await once(context, other, finish)).toMatchObject({ kind: 'conflict' })
    expect(await once(context, REQUEST, finish)).toMatchObject({ kind: 'produced' })
  })

  it('frees an abandoned key for any request', async () => {
    const { context } = openContext()
    await once(context, REQUEST, (claim) => claim.abandon())
    const other = { ...REQUEST, fingerprint: 'that' }
    expect(await once(context, other, finish)).toMatchObject({ kind: 'produced' })
  })

  it('shows a kept but unfinished answer to the next request', async () => {
    const { context } = openContext()
    await once(context, REQUEST, (claim) => claim.keep({ answer: 'kept' }))
    const result = await once(context, REQUEST, async ({ kept }) => kept)
    expect(result).toEqual({ kind: 'produced', value: { answer: 'kept' } })
  })

  it('takes only an answer that is final for one that its client has', async () => {
    const store = createMemoryLedger().idempotency
    const sent: string[] = []
    const noteSent = (key: string) => void sent.push(key)
    const { context } = openContext({ ...bound(store), noteSent })
    const request = { ...REQUEST, res: { writableFinished: true } as ServerResponse }
    await once(context, request, (claim) => claim.keep({ answer: 'kept' }))
    expect(sent).toEqual([])
    await once(context, request, finish)
    expect(sent).toEqual([REQUEST.key])
  })

  it('runs a request without a key each time, and stores nothing', async () => {
    const { context } = openContext()
    const runs = [1, 2].map((run) =>
      once(context, undefined, async (claim) => {
        await claim.keep({ answer: 'kept' })
        await claim.finish('stored')
        return [run, claim.hasKey, claim.kept]
      }),
    )
    expect(await Promise.all(runs)).toEqual([
      { kind: 'produced', value: [1, false, undefined] },
      { kind: 'produced', value: [2, false, undefined] },
    ])
  })

  it('logs an answer that cannot be stored, and returns it', async () => {
    const fails = (): Promise<never> => Promise.reject(new Error('The store is gone.'))
    const claim = { kept: undefined, keep: fails, finish: fails, pause: fails, abandon: fails }
    const { context, errors } = openContext({
      begin: async () => ({ state: 'fresh', claim }),
      look: async () => ({ state: 'free' }),
      noteSent: () => undefined,
    })
    const result = await once(context, REQUEST, async (key) => {
      await key.finish('stored')
      return 'answer'
    })
    expect(result).toEqual({ kind: 'produced', value: 'answer' })
    expect(errors).toEqual(['An answer could not be stored.'])
  })
})
