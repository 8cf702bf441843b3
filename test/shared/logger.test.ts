import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { inspect } from 'node:util'
import pino from 'pino'
import winston from 'winston'
import { ChainError, ConfigError } from '../../src/shared/errors.js'
import { documentationOf } from '../../src/shared/protocol/error-codes.js'
import {
  adaptLogger,
  processWarnings,
  type FieldsFirstLogger,
  type Logger,
} from '../../src/shared/logger.js'

afterEach(() => {
  jest.restoreAllMocks()
})

/** What Node was asked to warn of. */
function recordWarnings(): unknown[][] {
  const calls: unknown[][] = []
  jest.spyOn(process, 'emitWarning').mockImplementation((...args: unknown[]) => {
    calls.push(args)
  })
  return calls
}

describe('the logger of a gateway that was given none', () => {
  it('makes process warnings of warnings and errors', () => {
    const warnings = recordWarnings()
    processWarnings.warn('A token was seen.', { project: 'shop', tries: 2 })
    processWarnings.error('It failed.')
    expect(warnings).toStrictEqual([
      ['A token was seen. project=shop tries=2', 'X402Warning'],
      ['It failed.', 'X402Error'],
    ])
  })

  it('drops the rest', () => {
    const warnings = recordWarnings()
    processWarnings.debug('Too much.')
    processWarnings.info('Too much.')
    expect(warnings).toStrictEqual([])
  })

  it('tells of an error what it says and what caused it', () => {
    const warnings = recordWarnings()
    processWarnings.error('It failed.', {
      error: new Error('no answer', { cause: new Error('reset') }),
    })
    processWarnings.error('It failed.', { error: new Error('no answer', { cause: 'something' }) })
    expect(warnings.map(([text]) => text)).toStrictEqual([
      'It failed. error=no answer (reset)',
      'It failed. error=no answer (something)',
    ])
  })

  it('tells no URL of a node, whose path may be a key', () => {
    const warnings = recordWarnings()
    processWarnings.error('It failed.', { error: failure })
    expect(warnings.map(([text]) => text)).toStrictEqual([
      'It failed. error=No answer. (connect ECONNREFUSED https://[redacted])',
    ])
  })

  it('keeps the link to what a code means', () => {
    const warnings = recordWarnings()
    const error = new ConfigError('price', 'is ambiguous', 'invalid_price')
    processWarnings.error('It failed.', { error })
    expect(warnings[0]?.[0]).toContain(documentationOf('invalid_price'))
  })
})

/** What goes to a logger: every kind of field. */
const failure = new ChainError('chain_unreachable', 'No answer.', {
  cause: new Error('connect ECONNREFUSED https://base.example/v2/secret-key'),
})
const fields = { network: 'eip155:8453', balance: 12n, missing: undefined, error: failure }

/** A stream that collects lines of JSON. */
function collect() {
  const lines: Record<string, unknown>[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n').filter(Boolean))
        lines.push(JSON.parse(line) as Record<string, unknown>)
      done()
    },
  })
  return { lines, stream }
}

const whole = {
  network: 'eip155:8453',
  balance: '12',
  error: {
    name: 'ChainError',
    code: 'chain_unreachable',
    message: 'No answer.',
    cause: { name: 'Error', message: 'connect ECONNREFUSED https://[redacted]' },
    stack: expect.stringContaining('No answer.'),
  },
}

describe('a logger that is given', () => {
  it('keeps every field and the error’s code, message, cause and stack as pino', () => {
    const { lines, stream } = collect()
    const given: FieldsFirstLogger = pino({}, stream)
    adaptLogger(given).error('It failed.', fields)
    adaptLogger(given).warn('Alone.')
    expect(lines).toMatchObject([{ level: 50, msg: 'It failed.', ...whole }, { msg: 'Alone.' }])
    expect(JSON.stringify(lines)).not.toContain('secret-key')
  })

  it('keeps them as a child of pino, with the child’s own fields', () => {
    const { lines, stream } = collect()
    adaptLogger(pino({}, stream).child({ app: 'shop' })).info('Done.', fields)
    expect(lines).toMatchObject([{ app: 'shop', msg: 'Done.', ...whole }])
  })

  it('keeps them as winston', () => {
    const { lines, stream } = collect()
    const given: Logger = winston.createLogger({
      level: 'debug',
      transports: [new winston.transports.Stream({ stream })],
    })
    adaptLogger(given).error('It failed.', fields)
    expect(lines).toMatchObject([{ level: 'error', message: 'It failed.', ...whole }])
  })

  it('keeps them as console does', () => {
    const texts: string[] = []
    const write = (...parts: unknown[]) =>
      void texts.push(parts.map((part) => inspect(part)).join(' '))
    const given = { debug: write, info: write, warn: write, error: write } as unknown as Console
    adaptLogger(given).error('It failed.', fields)
    for (const part of ['It failed.', 'eip155:8453', 'chain_unreachable', 'ECONNREFUSED', '12'])
      expect(texts[0]).toContain(part)
  })

  it('is shown on one console, every field by its name, and no URL with a key', () => {
    let text = ''
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        text += chunk.toString()
        done()
      },
    })
    const given = new Console({ stdout: stream, stderr: stream, colorMode: false })
    adaptLogger(given).warn('A relayer is low.', { network: 'eip155:8453', balance: 12n })
    expect(text).toBe("A relayer is low. { network: 'eip155:8453', balance: '12' }\n")
    adaptLogger(given).error('It failed.', fields)
    for (const part of ['It failed.', "code: 'chain_unreachable'", 'cause:', 'ECONNREFUSED'])
      expect(text).toContain(part)
    expect(text).not.toContain('secret-key')
  })

  it('harms nothing when it throws', () => {
    const throws = () => {
      throw new Error('The disk is full.')
    }
    const given = { debug: throws, info: throws, warn: throws, error: throws }
    expect(() => adaptLogger(given).error('It failed.')).not.toThrow()
  })

  it('is called with causes that end, however errors refer to each other', () => {
    const one = new Error('one')
    one.cause = new Error('other', { cause: one })
    const { lines, stream } = collect()
    adaptLogger(pino({}, stream)).error('It failed.', { error: one })
    expect(lines).toHaveLength(1)
  })
})
