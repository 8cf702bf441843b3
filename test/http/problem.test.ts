import { describe, expect, it } from '@jest/globals'
import { problemDetails } from '../../src/http/problem.js'

describe('problemDetails', () => {
  it('writes the members of RFC 9457, and the code', () => {
    expect(
      problemDetails({ status: 404, code: 'not_found', detail: 'There is nothing here.' }),
    ).toStrictEqual({
      type: 'urn:x402-gateway:problem:not_found',
      title: 'Not Found',
      status: 404,
      detail: 'There is nothing here.',
      code: 'not_found',
    })
  })

  it('adds extension members', () => {
    const problem = { status: 502, code: 'transaction_failed', detail: 'It failed.' } as const
    expect(problemDetails(problem, { success: false, transaction: '0x1' })).toMatchObject({
      success: false,
      transaction: '0x1',
      status: 502,
    })
  })

  it('has a title for a status without a phrase', () => {
    expect(problemDetails({ status: 599, code: 'internal_error', detail: '' }).title).toBe('Error')
  })
})
