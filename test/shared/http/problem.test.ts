import { describe, expect, it } from '@jest/globals'
import { problemDetails } from '../../../src/shared/http/respond-problem.js'

describe('problemDetails', () => {
  it('writes the members of RFC 9457, and the code', () => {
    expect(
      problemDetails({ code: 'not_found', detail: 'There is nothing here.' }, 404),
    ).toStrictEqual({
      type: 'urn:x402-gateway:problem:not_found',
      title: 'Not Found',
      status: 404,
      detail: 'There is nothing here.',
      code: 'not_found',
    })
  })

  it('adds extension members', () => {
    const extensions = { success: false, transaction: '0x1' }
    const problem = { code: 'transaction_failed', detail: 'It failed.', extensions } as const
    expect(problemDetails(problem, 502)).toMatchObject({
      success: false,
      transaction: '0x1',
      status: 502,
    })
  })

  it('has a title for a status without a phrase', () => {
    expect(problemDetails({ code: 'internal_error', detail: '' }, 599).title).toBe('Error')
  })
})
