import type { SignInPayload, SignInReason } from '../../shared/protocol/sign-in.js'

/** How long a 402 may be signed in with (ms), as official servers have it. */
const SIGN_IN_MS = 300_000

/** How far the clocks of gateways may differ (ms). */
const SKEW_MS = 60_000

interface Expected {
  readonly uri: string
  /** CAIP-2. */
  readonly chains: readonly string[]
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Why what was signed is not for this request, at this time. */
export function whyMisplaced(
  payload: SignInPayload,
  { uri, chains, now }: Expected,
): SignInReason | undefined {
  if (payload.domain !== new URL(uri).host) return 'invalid_siwx_domain_mismatch'
  if (payload.uri !== uri) return 'invalid_siwx_uri_mismatch'
  const late = whyNotNow(payload, now)
  if (late !== undefined) return late
  const { chainId } = payload
  if (chainId.startsWith('eip155:') && !/^eip155:[1-9]\d*$/.test(chainId))
    return 'invalid_siwx_chain_id'
  return chains.includes(chainId) ? undefined : 'invalid_siwx_unsupported_chain'
}

function whyNotNow(
  { issuedAt, expirationTime, notBefore }: SignInPayload,
  now: number,
): SignInReason | undefined {
  const age = now - Date.parse(issuedAt)
  if (Number.isNaN(age)) return 'invalid_siwx_issued_at'
  if (age > SIGN_IN_MS) return 'invalid_siwx_issued_at_too_old'
  if (age < -SKEW_MS) return 'invalid_siwx_issued_at_in_future'
  const ends = expirationTime === undefined ? Infinity : Date.parse(expirationTime)
  if (Number.isNaN(ends)) return 'invalid_siwx_expiration_time'
  if (ends < now) return 'invalid_siwx_expired'
  const begins = notBefore === undefined ? -Infinity : Date.parse(notBefore)
  if (Number.isNaN(begins)) return 'invalid_siwx_not_before'
  return begins > now ? 'invalid_siwx_not_yet_valid' : undefined
}
