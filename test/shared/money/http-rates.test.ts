import { beforeEach, describe, expect, it } from '@jest/globals'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ConfigError } from '../../../src/shared/errors.js'
import { formatDecimal } from '../../../src/shared/money/decimal.js'
import { httpRates, type HttpRatesOptions } from '../../../src/shared/money/http-rates.js'
import { listen } from '../../support/http.js'
import { useOpened } from '../../support/use-opened.js'

const UNAVAILABLE = { name: 'RateError', code: 'rate_unavailable' }
const NOON = Date.UTC(2026, 0, 30, 12)
const DAY_MS = 86_400_000

const clock = { ms: NOON }
const requests: IncomingMessage[] = []
let answer: (req: IncomingMessage, res: ServerResponse) => void

const server = useOpened(() =>
  listen((req, res) => {
    requests.push(req)
    answer(req, res)
  }),
)
beforeEach(() => {
  clock.ms = NOON
  requests.length = 0
  answer = answerWith({ amount: 1, base: 'EUR', date: '2026-01-30', rates: { USD: 1.1919 } })
})

function answerWith(body: unknown, status = 200) {
  return (_req: IncomingMessage, res: ServerResponse): void => {
    res.writeHead(status, { 'content-type': 'application/json' })
    res.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

const ratesOf = (overrides: Partial<HttpRatesOptions> = {}) =>
  httpRates({
    url: `${server.url}/key-of-mine/v1`,
    now: () => clock.ms,
    timeoutMs: 60_000,
    ...overrides,
  })

async function rateOf(base = 'EUR', quote = 'USD', overrides?: Partial<HttpRatesOptions>) {
  const found = await ratesOf(overrides).getRate(base, quote)
  return found && formatDecimal(found.rate)
}

describe('an API like Frankfurter’s', () => {
  it('is asked for a pair, and states the day of its rate', async () => {
    expect(await ratesOf({ name: 'ECB' }).getRate('EUR', 'USD')).toStrictEqual({
      rate: { units: 11_919n, scale: 4 },
      asOf: Date.UTC(2026, 0, 30) / 1000,
      source: 'ECB',
      until: Date.UTC(2026, 1, 5) / 1000,
    })
    expect(requests.map(({ url }) => url)).toStrictEqual([
      '/key-of-mine/v1/latest?base=EUR&symbols=USD',
    ])
  })

  it('keeps the query of its URL, and sends the headers that it needs', async () => {
    await rateOf('EUR', 'USD', {
      url: `${server.url}/?key=abc`,
      headers: { 'x-api-key': 'secret' },
    })
    expect(requests[0]?.url).toBe('/latest?key=abc&base=EUR&symbols=USD')
    expect(requests[0]?.headers).toMatchObject({
      'x-api-key': 'secret',
      accept: 'application/json',
    })
  })

  it.each<[number | string, string]>([
    [0.1, '0.1'],
    [1e-7, '0.0000001'],
    [1e21, `1${'0'.repeat(21)}`],
    [0.30000000000000004, '0.3'],
    ['1.10', '1.10'],
  ])('gives %p to the digit', async (rate, text) => {
    answer = answerWith({ base: 'EUR', date: '2026-01-30', rates: { USD: rate } })
    expect(await rateOf()).toBe(text)
  })

  it('is asked for inverse and cross if it does not know a pair', async () => {
    answer = (req, res) => {
      const { searchParams } = new URL(req.url ?? '', 'http://api')
      const pair = `${searchParams.get('base')}/${searchParams.get('symbols')}`
      const rates = { 'EUR/USD': ['USD', 1.25], 'HKD/USD': ['USD', 0.125] }[pair]
      if (rates === undefined) return answerWith({ message: 'not found' }, 404)(req, res)
      const [quote, rate] = rates as [string, number]
      answerWith({ base: pair.slice(0, 3), date: '2026-01-30', rates: { [quote]: rate } })(req, res)
    }
    expect(await rateOf('USD', 'EUR')).toBe('0.8')
    expect(await rateOf('EUR', 'HKD')).toBe('10')
    expect(await rateOf('EUR', 'KWD')).toBeUndefined()
  })

  it('does not know a currency that its answer leaves out', async () => {
    answer = answerWith({ base: 'EUR', date: '2026-01-30', rates: {} })
    expect(await rateOf()).toBeUndefined()
  })
})

describe('any other JSON API', () => {
  const options = (): Partial<HttpRatesOptions> => ({
    url: (base, quote) => `${server.url}/pairs/${base}-${quote}`,
    read: (json) => {
      const { mid, at } = json as { mid: string; at: number }
      return mid === 'none' ? undefined : { rate: mid, asOf: at }
    },
  })

  it('is read by two functions', async () => {
    answer = answerWith({ mid: '0.1285', at: NOON / 1000 - 60.5 })
    const rates = ratesOf(options())
    expect(await rates.getRate('HKD', 'USD')).toMatchObject({
      rate: { units: 1285n, scale: 4 },
      asOf: NOON / 1000 - 61,
      source: 'http',
    })
    expect(requests[0]?.url).toBe('/pairs/HKD-USD')
  })

  it('is believed for a day by default', async () => {
    answer = answerWith({ mid: '0.1285', at: NOON / 1000 - 86_400 })
    expect(await rateOf('HKD', 'USD', options())).toBe('0.1285')
    const strict = { ...options(), maxAgeSeconds: 86_399 }
    await expect(rateOf('HKD', 'USD', strict)).rejects.toMatchObject(UNAVAILABLE)
    clock.ms += 1
    await expect(rateOf('HKD', 'USD', options())).rejects.toMatchObject(UNAVAILABLE)
  })

  it('can report an unknown pair in its own way', async () => {
    answer = answerWith({ mid: 'none' })
    expect(await rateOf('HKD', 'USD', options())).toBeUndefined()
  })
})

describe('an API of rates that is', () => {
  it('slow is given up', async () => {
    answer = () => undefined
    await expect(rateOf('EUR', 'USD', { timeoutMs: 50 })).rejects.toMatchObject(UNAVAILABLE)
  })

  it('slow in the middle of its answer is given up', async () => {
    answer = (_req, res) => void res.writeHead(200).write('{"base":')
    await expect(rateOf('EUR', 'USD', { timeoutMs: 200 })).rejects.toMatchObject(UNAVAILABLE)
  })

  it.each<[string, unknown]>([
    ['no JSON', '<html>'],
    ['a text', '"1.08"'],
    ['null', 'null'],
    ['of another base', { base: 'USD', date: '2026-01-30', rates: { USD: 1.19 } }],
    ['without a date', { base: 'EUR', rates: { USD: 1.19 } }],
    ['without rates', { base: 'EUR', date: '2026-01-30' }],
    ['of zero', { base: 'EUR', date: '2026-01-30', rates: { USD: 0 } }],
    ['negative', { base: 'EUR', date: '2026-01-30', rates: { USD: -1.19 } }],
    ['not finite', '{"base":"EUR","date":"2026-01-30","rates":{"USD":1e999}}'],
    ['in another notation', { base: 'EUR', date: '2026-01-30', rates: { USD: '1,19' } }],
    ['an object', { base: 'EUR', date: '2026-01-30', rates: { USD: { mid: 1 } } }],
  ])('wrong gives no rate: %s', async (_name, body) => {
    answer = answerWith(body)
    await expect(rateOf()).rejects.toMatchObject(UNAVAILABLE)
  })

  it.each([302, 400, 429, 500])('wrong gives no rate: HTTP %i', async (status) => {
    answer = answerWith('', status)
    await expect(rateOf()).rejects.toMatchObject(UNAVAILABLE)
  })

  it('endless is not read to its end', async () => {
    let written = 0
    answer = (_req, res) => {
      const piece = Buffer.alloc(64 * 1024, ' ')
      const write = (): void => {
        if (res.destroyed) return
        written += piece.length
        if (res.write(piece)) setImmediate(write)
        else res.once('drain', write)
      }
      write()
    }
    await expect(rateOf()).rejects.toMatchObject(UNAVAILABLE)
    expect(written).toBeLessThan(64 * 1024 * 1024)
  })

  it('stale is believed for six days, as over holidays, and then no longer', async () => {
    clock.ms = Date.UTC(2026, 0, 30) + 6 * DAY_MS
    expect(await rateOf()).toBe('1.1919')
    clock.ms += 1
    await expect(rateOf()).rejects.toMatchObject(UNAVAILABLE)
  })

  it('gone is replaced by its last rate for an hour, and then no longer', async () => {
    const gone = await listen((req, res) => answer(req, res))
    const rates = ratesOf({ url: gone.url })
    const first = await rates.getRate('EUR', 'USD')
    await gone.close()
    clock.ms += 3600_000
    expect(await rates.getRate('EUR', 'USD')).toStrictEqual(first)
    clock.ms += 1000
    await expect(rates.getRate('EUR', 'USD')).rejects.toMatchObject(UNAVAILABLE)
  })

  it('secret is not named in any error', async () => {
    const failures: (() => void)[] = [
      () => (answer = answerWith('{"at":"key-of-mine"')),
      () => (answer = answerWith('', 500)),
      () => (answer = (req) => void req.socket.destroy()),
    ]
    for (const arrange of failures) {
      arrange()
      const error: unknown = await rateOf().catch((thrown: unknown) => thrown)
      expect(error).toMatchObject(UNAVAILABLE)
      const { message, cause } = error as Error
      expect(`${message} ${String(cause)}`).not.toMatch(/key-of-mine|127\.0\.0\.1/)
    }
  })
})

describe('the URL of an API', () => {
  it.each(['', 'api.example', 'ftp://api.example'])('is refused if it is malformed: %p', (url) => {
    expect(() => httpRates({ url })).toThrow(ConfigError)
    expect(() => httpRates({ url })).toThrow('rates.url')
  })
})

describe('undefined options (rule 20)', () => {
  it('have their defaults, such as a refresh after five minutes', async () => {
    const undefinedOptions = {
      freshSeconds: undefined,
      staleSeconds: undefined,
      maxAgeSeconds: undefined,
    }
    const rates = ratesOf(undefinedOptions as unknown as Partial<HttpRatesOptions>)
    await rates.getRate('EUR', 'USD')
    clock.ms += 299_000
    await rates.getRate('EUR', 'USD')
    expect(requests).toHaveLength(1)
    clock.ms += 3_600_000
    await rates.getRate('EUR', 'USD')
    expect(requests).toHaveLength(2)
  })
})
