import type { DocumentError } from '../../shared/protocol/document.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'

const NOUNS = { body: 'Body member', query: 'Query parameter' } as const

/**
 * Makes the 400 for a body or a query that is not as its endpoint expects it.
 *
 * @param errors - Everything that is wrong. The detail says what is wrong with the first one.
 */
export function invalidRequest(
  part: keyof typeof NOUNS,
  errors: readonly DocumentError[],
): RequestProblem {
  const [first] = errors
  const where = first?.path ? `${NOUNS[part]} '${first.path}':` : `The ${part}`
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more, see errors)` : ''
  const detail = `${where} ${first?.message}${more}`
  return new RequestProblem('invalid_request', detail.endsWith('?') ? detail : `${detail}.`, {
    errors,
  })
}
