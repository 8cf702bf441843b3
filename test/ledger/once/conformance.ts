import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { askUntilFree } from '../../../src/ledger/once/wait.js'
import type { IdempotencyClaim, IdempotencyStore } from '../../../src/ledger/once/store.js'
import { useCleanup, closedBy } from '../../support/cleanup.js'

/** A request that nobody has made. */
export function newRequest(fingerprint = 'one') {
  return { key: randomBytes(32).toString('hex'), fingerprint }
}

/** Claims a key that is known to be free. */
export async function claim(
  store: IdempotencyStore,
  request: { key: string; fingerprint: string },
): Promise<IdempotencyClaim> {
  const begun = await store.begin(request)
  if (begun.state !== 'fresh') throw new Error(`The key is ${begun.state}.`)
  return begun.claim
}

/** A store that is tested, and its end. */
export interface OpenStore {
  readonly store: IdempotencyStore
  close(): Promise<void>
}

/** What every store of answers has to do. */
export function describeIdempotency(name: string, create: () => Promise<OpenStore>): void {
  describe(`${name}, as every store of answers,`, () => {
    const toEnd = useCleanup()
    const open = async (): Promise<IdempotencyStore> => {
      const one = closedBy(toEnd, await create())
      return one.store
    }

    it('gives a key to one of fifty requests at once', async () => {
      const store = await open()
      const request = newRequest()
      const begun = await Promise.all(Array.from({ length: 50 }, () => store.begin(request)))
      expect(begun.filter(({ state }) => state === 'fresh')).toHaveLength(1)
      expect(begun.filter(({ state }) => state === 'busy')).toHaveLength(49)
    })

    it('repeats the answer to the same request only', async () => {
      const store = await open()
      const request = newRequest()
      await (await claim(store, request)).finish('{"an":"answer é"}')
      const again = { state: 'done', answer: '{"an":"answer é"}' }
      expect(await store.begin(request)).toEqual(again)
      expect(await store.begin(request)).toEqual(again)
      expect(await store.begin({ ...request, fingerprint: 'two' })).toEqual({ state: 'conflict' })
      expect(await store.begin(newRequest())).toMatchObject({ state: 'fresh' })
    })

    it('shows the state of a key without changing it', async () => {
      const store = await open()
      const request = newRequest()
      const other = { ...request, fingerprint: 'two' }
      expect(await store.look(request)).toEqual({ state: 'free' })
      expect(await store.look(other)).toEqual({ state: 'free' })
      const first = await claim(store, request)
      expect(await store.look(request)).toEqual({ state: 'busy' })
      expect(await store.look(other)).toEqual({ state: 'conflict' })
      await first.pause()
      expect(await store.look(request)).toEqual({ state: 'paused', kept: undefined })
      expect(await store.look(other)).toEqual({ state: 'conflict' })
      const second = await claim(store, request)
      await second.keep({ answer: 'ready' })
      await second.pause()
      expect(await store.look(request)).toEqual({ state: 'paused', kept: { answer: 'ready' } })
      await (await claim(store, request)).finish('given')
      expect(await store.look(request)).toEqual({ state: 'done', answer: 'given' })
      expect(await store.look(other)).toEqual({ state: 'conflict' })
    })

    it('reports another fingerprint while the first request is being answered', async () => {
      const store = await open()
      const request = newRequest()
      await claim(store, request)
      expect(await store.begin({ ...request, fingerprint: 'two' })).toEqual({ state: 'conflict' })
    })

    it('lets only the same request try again after a pause', async () => {
      const store = await open()
      const request = newRequest()
      await (await claim(store, request)).pause()
      expect(await store.begin({ ...request, fingerprint: 'two' })).toEqual({ state: 'conflict' })
      const second = await claim(store, request)
      expect(second.kept).toBeUndefined()
      await second.finish('later')
      expect(await store.begin(request)).toEqual({ state: 'done', answer: 'later' })
    })

    it('forgets an abandoned key', async () => {
      const store = await open()
      const request = newRequest()
      await (await claim(store, request)).abandon()
      expect(await store.begin({ ...request, fingerprint: 'two' })).toMatchObject({
        state: 'fresh',
      })
    })

    it('shows a kept answer to the next claim alone', async () => {
      const store = await open()
      const request = newRequest()
      const first = await claim(store, request)
      await first.keep({ answer: 'ready' })
      expect(await store.begin(request)).toEqual({ state: 'busy' })
      await first.pause()
      const second = await claim(store, request)
      expect(second.kept?.answer).toBe('ready')
      // What somebody else kept outlives a claim that came to nothing.
      await second.abandon()
      const third = await claim(store, request)
      expect(third.kept?.answer).toBe('ready')
      await third.keep({ answer: 'better' })
      await third.keep(undefined)
      await third.pause()
      const fourth = await claim(store, request)
      expect(fourth.kept).toBeUndefined()
      await fourth.keep({ answer: 'best' })
      await fourth.abandon()
      expect((await claim(store, request)).kept).toBeUndefined()
    })

    it('can finish with another answer than the kept one', async () => {
      const store = await open()
      const request = newRequest()
      const first = await claim(store, request)
      await first.keep({ answer: 'ready' })
      await first.finish('done')
      expect(await store.begin(request)).toEqual({ state: 'done', answer: 'done' })
    })

    it('lets others wait for the answer for as long as they want', async () => {
      const store = await open()
      const request = newRequest()
      const first = await claim(store, request)
      const wait = (settleTimeoutMs: number) =>
        askUntilFree({ idempotency: store, settleTimeoutMs }, request, () => store.begin(request))
      expect(await wait(50)).toEqual({ state: 'busy' })
      const waiting = wait(10_000)
      await first.finish('at last')
      expect(await waiting).toEqual({ state: 'done', answer: 'at last' })
    })

    it('keeps a large answer', async () => {
      const store = await open()
      const request = newRequest()
      const answer = randomBytes(180 * 1024).toString('hex')
      await (await claim(store, request)).finish(answer)
      expect(await store.begin(request)).toEqual({ state: 'done', answer })
    })
  })
}
