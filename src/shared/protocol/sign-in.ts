/** The extension `sign-in-with-x` of x402 v2: who asks signs a text (EIP-4361) that says so. */
import { z } from 'zod'
import { parseDocument, type Parsed } from './document.js'
import { decodeHeader } from './headers.js'
import type { Hex } from './payment.js'
import { ADDRESS } from './primitives.js'

/** Key of the extension, and of the header that carries what was signed. */
export const SIGN_IN_WITH_X = 'sign-in-with-x'

const SIGN_AGAIN = 'Sign the sign-in-with-x extension of this 402.'

/** Why nobody is signed in, and what to do: the codes of the official extension. */
export const signInReasons = {
  invalid_siwx_domain_mismatch: `It was signed for another site. ${SIGN_AGAIN}`,
  invalid_siwx_uri_mismatch: `It was signed for another URL. ${SIGN_AGAIN}`,
  invalid_siwx_issued_at: `issuedAt is not a time. ${SIGN_AGAIN}`,
  invalid_siwx_issued_at_too_old: `It was signed too long ago. ${SIGN_AGAIN}`,
  invalid_siwx_issued_at_in_future: `issuedAt is in the future. ${SIGN_AGAIN}`,
  invalid_siwx_expiration_time: `expirationTime is not a time. ${SIGN_AGAIN}`,
  invalid_siwx_expired: `It has expired. ${SIGN_AGAIN}`,
  invalid_siwx_not_before: `notBefore is not a time. ${SIGN_AGAIN}`,
  invalid_siwx_not_yet_valid: `It is not valid yet. ${SIGN_AGAIN}`,
  invalid_siwx_nonce: `Its nonce was used before, or is not from this seller for this request. ${SIGN_AGAIN}`,
  invalid_siwx_chain_id: 'chainId is not the id of a chain. Sign for one of supportedChains.',
  invalid_siwx_unsupported_chain:
    'The seller does not take this chain. Sign for one of supportedChains.',
  invalid_siwx_malformed_signature: `The SIGN-IN-WITH-X header cannot be read. ${SIGN_AGAIN}`,
  invalid_siwx_signature: `The account has not signed it. ${SIGN_AGAIN}`,
  invalid_siwx_verifier_error:
    'The seller cannot ask contract accounts on this chain. Sign with a key, or on another chain.',
} as const

export type SignInReason = keyof typeof signInReasons

export interface SignInExtension {
  readonly info: {
    readonly domain: string
    readonly uri: string
    readonly version: '1'
    readonly nonce: string
    /** ISO 8601. */
    readonly issuedAt: string
    readonly resources: readonly string[]
  }
  readonly supportedChains: readonly { readonly chainId: string; readonly type: 'eip191' }[]
  readonly schema: object
}

/** Text without line breaks: each part of what is signed has lines of its own. */
// oxlint-disable-next-line no-control-regex -- they are what is refused
const line = z.string().regex(/^[^\u0000-\u001f\u007f]*$/, 'must be one line')

const payloadSchema = z.object({
  domain: line,
  address: z.string().regex(ADDRESS, 'must be an address'),
  statement: line.optional(),
  uri: line,
  version: z.literal('1'),
  chainId: line,
  type: z.enum(['eip191', 'ed25519']),
  nonce: line,
  issuedAt: line,
  expirationTime: line.optional(),
  notBefore: line.optional(),
  requestId: line.optional(),
  resources: z.array(line).optional(),
  signature: z.string().regex(/^0x(?:[0-9a-fA-F]{2})+$/, 'must be bytes in hexadecimal digits'),
})

/** What a request signs in with. */
export interface SignInPayload extends z.infer<typeof payloadSchema> {
  readonly address: Hex
  readonly signature: Hex
}

export function readSignIn(header: string): Parsed<SignInPayload> {
  const decoded = decodeHeader(header)
  if (!decoded.ok) return { ok: false, errors: [{ path: '', message: decoded.problem }] }
  return parseDocument(payloadSchema, decoded.value) as Parsed<SignInPayload>
}

/** The text that is signed (EIP-4361). */
export function signInMessage(payload: Omit<SignInPayload, 'signature' | 'type'>): string {
  const { domain, address, statement, resources } = payload
  const members = [
    ['URI', payload.uri],
    ['Version', payload.version],
    ['Chain ID', payload.chainId.replace(/^eip155:/, '')],
    ['Nonce', payload.nonce],
    ['Issued At', payload.issuedAt],
    ['Expiration Time', payload.expirationTime],
    ['Not Before', payload.notBefore],
    ['Request ID', payload.requestId],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
  return [
    `${domain} wants you to sign in with your Ethereum account:`,
    address,
    '',
    ...(statement === undefined ? [] : [statement]),
    '',
    ...members,
    ...(resources === undefined ? [] : ['Resources:', ...resources.map((one) => `- ${one}`)]),
  ].join('\n')
}

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }
const uri = { type: 'string', format: 'uri' }

/** JSON Schema of {@link SignInPayload}, as in official servers. */
export const signInSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    domain: text,
    address: text,
    statement: text,
    uri,
    version: text,
    chainId: text,
    type: text,
    nonce: text,
    issuedAt: time,
    expirationTime: time,
    notBefore: time,
    requestId: text,
    resources: { type: 'array', items: uri },
    signature: text,
  },
  required: 'domain address uri version chainId type nonce issuedAt signature'.split(' '),
} as const
