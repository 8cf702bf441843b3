import { describe, expect, it } from '@jest/globals'
import { reasons, type Reason } from '../../../src/shared/protocol/reasons.js'
import {
  explainReason,
  invalidResponse,
  unsettledResponse,
} from '../../../src/shared/protocol/reason-words.js'

describe('the words of a refusal', () => {
  it.each(reasons)('are a sentence for %s', (reason) => {
    expect(explainReason(reason)).toMatch(/^[A-Z].{15,}\.$/)
  })

  it.each(['a_reason_of_theirs', 'toString', '__proto__', ''])(
    'are missing for a foreign reason: %p',
    (reason) => {
      expect(explainReason(reason)).toBeUndefined()
      expect(invalidResponse({ reason: reason as Reason })).toStrictEqual({
        isValid: false,
        invalidReason: reason,
      })
    },
  )

  it('are the more precise ones if there are any', () => {
    const message = 'The offer is for a, the payment for b.'
    const refused = { reason: 'resource_mismatch', message, network: 'eip155:8453' } as const
    expect(invalidResponse(refused)).toMatchObject({ invalidMessage: message })
    expect(unsettledResponse(refused)).toStrictEqual({
      success: false,
      errorReason: 'resource_mismatch',
      errorMessage: message,
      transaction: '',
      network: 'eip155:8453',
    })
  })
})
