import { inspect } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import {
  ChainError,
  ConfigError,
  FacilitatorError,
  isConfigError,
  isOutsideFailure,
  isRateError,
  LedgerError,
  RateError,
  RelayerError,
} from '../../src/shared/errors.js'

/** An error as another copy of this package throws it: of classes that are not ours. */
const fromAnotherCopy = (name: string, code: string): Error =>
  Object.assign(new Error('away'), { name, code })

describe('a failure outside', () => {
  it.each([
    new ChainError('chain_unreachable', 'away'),
    new RateError('rate_unavailable', 'away'),
    new LedgerError('ledger_full', 'away'),
    new RelayerError('gas_price_too_high', 'away'),
    new FacilitatorError('facilitator_refused', 'away'),
    fromAnotherCopy('LedgerError', 'ledger_unavailable'),
  ])('is recognised by its code: %p', (error) => {
    expect(isOutsideFailure(error)).toBe(true)
    expect(isConfigError(error)).toBe(false)
  })

  it.each([
    new Error('a bug'),
    new ConfigError('publicUrl', 'is wrong'),
    fromAnotherCopy('Error', 'chain_unreachable'),
    fromAnotherCopy('LedgerError', 'ECONNREFUSED'),
    fromAnotherCopy('Object', 'constructor'),
    { name: 'LedgerError', code: 'ledger_full' },
    undefined,
  ])('is nothing else: %p', (error) => {
    expect(isOutsideFailure(error)).toBe(false)
  })

  it('keeps its cause, its code and the name of its class', () => {
    const cause = new Error('refused')
    const error = new RateError('rate_unavailable', 'no rate', { cause })
    expect(error).toMatchObject({ name: 'RateError', code: 'rate_unavailable', message: 'no rate' })
    expect(error.cause).toBe(cause)
    expect([
      isRateError(error),
      isRateError(fromAnotherCopy('ChainError', 'rate_unavailable')),
    ]).toEqual([true, false])
  })
})

/** The page that the package ships, at the heading of a code. */
const pageOf = (code: string): string =>
  `https://unpkg.com/express-x402-gateway/example-app/docs/errors.md#${code}:~:text=%23%23%23%20${code}`

describe('an error', () => {
  it('names the page that documents its code', () => {
    const { documentation } = new ChainError('chain_unreachable', 'No answer.')
    expect(documentation).toBe(pageOf('chain_unreachable'))
    expect(new ConfigError([]).documentation).toBe(pageOf('config_invalid'))
  })
})

describe('a ConfigError', () => {
  it('is recognised in any copy, and has all that is wrong', () => {
    const error = new ConfigError([
      { option: 'a', code: 'missing_option', message: 'is missing' },
      { option: 'b', code: 'invalid_url', message: 'is wrong' },
    ])
    expect(isConfigError(error)).toBe(true)
    expect(isConfigError(fromAnotherCopy('ConfigError', 'config_invalid'))).toBe(true)
    expect(error).toMatchObject({
      code: 'config_invalid',
      option: 'a',
      message: [
        'a: is missing',
        'b: is wrong',
        `See ${pageOf('missing_option')}`,
        `See ${pageOf('invalid_url')}`,
      ].join('\n'),
      documentation: pageOf('missing_option'),
    })
    // Node prints an uncaught error with its members: the message says it all once.
    expect(inspect(error).match(/is missing/g)).toHaveLength(1)
    const many = ['missing_option', 'invalid_url', 'invalid_key', 'invalid_token'] as const
    const { message } = new ConfigError(many.map((code) => ({ option: 'a', code, message: 'b' })))
    expect(message.match(/^See /gm)).toHaveLength(3)
    expect(new ConfigError('a', 'is wrong').issues).toStrictEqual([
      { option: 'a', code: 'invalid_value', message: 'is wrong' },
    ])
  })
})
