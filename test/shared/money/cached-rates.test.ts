import { describe, expect, it } from '@jest/globals'
import { setImmediate } from 'node:timers/promises'
import { RateError } from '../../../src/shared/errors.js'
import { cachedRates } from '../../../src/shared/money/cached-rates.js'
import { formatDecimal } from '../../../src/shared/money/decimal.js'
import type { Rate } from '../../../src/shared/money/rates.js'

const UNAVAILABLE = { name: 'RateError', code: 'rate_unavailable' }

/** A source that a test answers for, remembered for 10 s and used for 60 s. */
function open() {
  const clock = { ms: 1_000_000 }
  const asked: { pair: string; answer(units?: bigint, until?: number): void; fail(): void }[] = []
  const rates = cachedRates(
    {
      getRate: (base, quote) =>
        new Promise<Rate | undefined>((resolve, reject) => {
          asked.push({
            pair: `${base}/${quote}`,
            answer: (units, until) =>
              resolve(
                units === undefined
                  ? undefined
                  : { rate: { units, scale: 2 }, asOf: 0, source: 'test', until },
              ),
            fail: () => reject(new RateError('rate_unavailable', 'away')),
          })
        }),
    },
    { freshSeconds: 10, staleSeconds: 60, now: () => clock.ms },
  )
  const get = async (base = 'EUR', quote = 'USD') => {
    const found = await rates.getRate(base, quote)
    return found && formatDecimal(found.rate)
  }
  /** Asks for the first time, and is told. */
  const learn = async (units?: bigint, until?: number) => {
    const first = get()
    asked[0]!.answer(units, until)
    await first
  }
  return { clock, asked, get, learn }
}

describe('a rate that was asked for', () => {
  it('is not fetched again while it is fresh', async () => {
    const { clock, asked, get, learn } = open()
    await learn(108n)
    clock.ms += 10_000
    expect(await get()).toBe('1.08')
    expect(asked).toHaveLength(1)
  })

  it('is fetched once for many callers at once, separately from other pairs', async () => {
    const { asked, get } = open()
    const waiting = [get(), get(), get(), get('USD', 'EUR')]
    expect(asked.map(({ pair }) => pair)).toStrictEqual(['EUR/USD', 'USD/EUR'])
    asked[0]!.answer(108n)
    asked[1]!.answer(92n)
    expect(await Promise.all(waiting)).toStrictEqual(['1.08', '1.08', '1.08', '0.92'])
  })

  it('is used while it is stale, and fetched once in the background', async () => {
    const { clock, asked, get, learn } = open()
    await learn(108n)
    clock.ms += 10_001
    expect(await Promise.all([get(), get(), get()])).toStrictEqual(['1.08', '1.08', '1.08'])
    expect(asked).toHaveLength(2)
    asked[1]!.answer(109n)
    await setImmediate()
    expect(await get()).toBe('1.09')
    expect(asked).toHaveLength(2)
  })

  it('survives a failed refresh, which is retried a little later', async () => {
    const { clock, asked, get, learn } = open()
    await learn(108n)
    clock.ms += 20_000
    expect(await get()).toBe('1.08')
    asked[1]!.fail()
    await setImmediate()
    expect(await get()).toBe('1.08')
    expect(asked).toHaveLength(2)
    clock.ms += 5000
    expect(await get()).toBe('1.08')
    expect(asked).toHaveLength(3)
    asked[2]!.fail()
  })

  it('is never used after it expires, and then a failed fetch is reported', async () => {
    const { clock, asked, get, learn } = open()
    await learn(108n)
    clock.ms += 60_001
    const waiting = get()
    asked[1]!.fail()
    await expect(waiting).rejects.toMatchObject(UNAVAILABLE)
    const again = get()
    asked[2]!.answer(110n)
    expect(await again).toBe('1.10')
  })

  it('expires when its source says so', async () => {
    const { clock, asked, get, learn } = open()
    await learn(108n, 1005)
    clock.ms = 1_005_000
    expect(await get()).toBe('1.08')
    clock.ms = 1_005_001
    const waiting = get()
    asked[1]!.answer(108n, 1005)
    await expect(waiting).rejects.toMatchObject(UNAVAILABLE)
  })

  it('can be unknown, which is cached as well', async () => {
    const { asked, get, learn } = open()
    await learn()
    expect(await get()).toBeUndefined()
    expect(asked).toHaveLength(1)
  })

  it('is fetched again after the source failed', async () => {
    const { asked, get } = open()
    const first = get()
    asked[0]!.fail()
    await expect(first).rejects.toMatchObject(UNAVAILABLE)
    const second = get()
    asked[1]!.answer(108n)
    expect(await second).toBe('1.08')
  })

  it('arrives even if a thousand other pairs are fetched meanwhile', async () => {
    const { asked, get } = open()
    const first = get()
    const others = Array.from({ length: 1000 }, (_, index) => get('EUR', `T${index}`))
    for (const { answer } of asked) answer(108n)
    expect(await first).toBe('1.08')
    expect(new Set(await Promise.all(others))).toStrictEqual(new Set(['1.08']))
  })

  it('is fetched once after it expires, even if a refresh was in progress before', async () => {
    const { clock, asked, get, learn } = open()
    await learn(108n)
    clock.ms += 20_000
    await get()
    clock.ms += 60_000
    const waiting = [get(), get()]
    expect(asked).toHaveLength(2)
    asked[1]!.fail()
    for (const one of waiting) await expect(one).rejects.toMatchObject(UNAVAILABLE)
  })
})
