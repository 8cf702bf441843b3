import type { z } from 'zod'
import type { ConfigErrorCode, ConfigIssue } from '../errors.js'
import { parseWithIssues } from './document.js'

/** Names that are looked for among the options, and where they are. */
export const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['payTo', 'belongs to a merchant: projects[].merchant.payTo, or X402_PAY_TO'],
  ['network', 'belongs to the gateway: networks, or X402_NETWORK'],
  ['price', "is the first argument of x402Protect, by itself: x402Protect('$0.01')"],
  ['upTo', "takes the place of the price: x402Protect({ upTo: '$0.10' }, { … })"],
  ['accepts', "is made of the price and the gateway's networks: x402Protect('$0.01')"],
  ['scheme', 'is exact, or upto for a maximum: x402Protect({ upTo })'],
  ['accessLog', 'is a flag of the command line: serve --access-log'],
])

/**
 * Parses options by a schema.
 *
 * @returns The schema's output, or every mistake with its path, code and remedy.
 */
export function readOptions<T>(
  schema: z.ZodType<T>,
  value: unknown,
):
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly ConfigIssue[] } {
  const parsed = parseWithIssues(schema, value, 'option')
  if (parsed.ok) return parsed
  const issues = parsed.issues.map(({ path, message, issue }) => {
    const code = codeOf(issue)
    const elsewhere = code === 'unknown_option' && ELSEWHERE.get(path.split('.').at(-1) ?? '')
    return { option: path, code, message: elsewhere || message }
  })
  return { ok: false, issues }
}

/** Classifies a zod issue; custom checks have their code in `params`. */
function codeOf(issue: z.core.$ZodIssue): ConfigErrorCode {
  switch (issue.code) {
    case 'unrecognized_keys':
      return 'unknown_option'
    case 'invalid_type':
      return issue.input === undefined ? 'missing_option' : 'invalid_type'
    case 'too_small':
    case 'too_big':
      return 'out_of_range'
    case 'invalid_union':
      return 'invalid_type'
    case 'custom': {
      const code: ConfigErrorCode | undefined = issue.params?.['code']
      return code ?? 'invalid_type'
    }
    default:
      return 'invalid_value'
  }
}
