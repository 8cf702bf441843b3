import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { processWarnings } from '../src/logger.js'

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
      'It failed. error=no answer',
    ])
  })
})
