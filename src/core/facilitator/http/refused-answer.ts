import { FacilitatorError } from '../../../shared/errors.js'
import type { JsonResponse } from '../../../shared/http/fetch-json.js'
import { ownWords } from './results.js'

type Answer = Extract<JsonResponse, { readonly kind: 'json' | 'no_json' }>

/** Whether a request with this answer was not looked at: nothing was sent. */
export const isUnread = (status: number): boolean => [401, 413, 429].includes(status)

const CHECK_TOKEN = '; check its token'
const REDIRECTED = '; redirects are not followed: name the URL that it redirects to'

const HINTS: Readonly<Record<number, string>> = {
  401: CHECK_TOKEN,
  403: CHECK_TOKEN,
  404: '; check its URL',
}

/** The error for an answer without a result. @param secrets - Not repeated. */
export function refusedAnswer(
  path: string,
  answer: Answer,
  secrets: readonly string[],
): FacilitatorError {
  const { status, headers } = answer
  const claimsSuccess = answer.kind === 'json' && Object(answer.document).success === true
  const options = {
    cause: saidBy(answer, secrets),
    isUnsent: isUnread(status) && !claimsSuccess,
  }
  if (status === 429)
    return new FacilitatorError(
      'facilitator_busy',
      'The facilitator takes no more requests for now; nothing was sent. Present the same payment again later.',
      { ...options, retryAfterSeconds: secondsOf(headers.get('retry-after')) },
    )
  const hint = HINTS[status] ?? (status >= 300 && status < 400 ? REDIRECTED : '')
  return new FacilitatorError(
    'facilitator_refused',
    `The facilitator answered ${path} with HTTP ${status} and no result that counts${hint}.`,
    options,
  )
}

/** A shorter part of a header is no secret: texts would lose common words. */
const MIN_SECRET_LENGTH = 8

/** A facilitator's answer for the log: the target of a redirect, or its words without our secrets. */
function saidBy(answer: Answer, secrets: readonly string[]): string | undefined {
  const location = answer.headers.get('location')
  if (location !== null && URL.canParse(location)) {
    const { host, pathname } = new URL(location)
    return ownWords(`redirects to ${host}${pathname}`)
  }
  const text = answer.kind === 'json' ? JSON.stringify(answer.document) : answer.text
  const parts = secrets.flatMap((secret) => secret.split(/\s+/))
  const hidden = parts.filter(({ length }) => length >= MIN_SECRET_LENGTH)
  return ownWords(hidden.reduce((said, secret) => said.replaceAll(secret, '…'), text))
}

/** Longest time that a facilitator may ask for (s). */
const MAX_RETRY_SECONDS = 3600

function secondsOf(header: string | null): number | undefined {
  return header !== null && /^\d{1,9}$/.test(header)
    ? Math.min(Math.max(1, Number(header)), MAX_RETRY_SECONDS)
    : undefined
}
