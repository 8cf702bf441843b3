import { describe, expect, it } from '@jest/globals'
import { whyMisplaced } from '../../../src/sell/sign-in/check-sign-in.js'
import { readSignIn, type SignInPayload } from '../../../src/shared/protocol/sign-in.js'

const NOW = Date.parse('2026-11-30T12:00:00.000Z')
const URI = 'https://shop.example:8443/news?page=2'
const at = (ms: number): string => new Date(NOW + ms).toISOString()

const payload: SignInPayload = {
  domain: 'shop.example:8443',
  address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  uri: URI,
  version: '1',
  chainId: 'eip155:84532',
  type: 'eip191',
  nonce: '0'.repeat(32),
  issuedAt: at(0),
  signature: '0x00',
}
const check = (changes: Partial<SignInPayload>, now = NOW) =>
  whyMisplaced({ ...payload, ...changes }, { uri: URI, chains: ['eip155:84532'], now })

describe('what was signed for this request, at this time,', () => {
  it.each([
    {},
    { issuedAt: at(-300_000) },
    { issuedAt: at(60_000) },
    { expirationTime: at(0), notBefore: at(0) },
  ])('is good: %j', (changes) => {
    expect(check(changes)).toBeUndefined()
  })
})

describe('what was signed otherwise', () => {
  it.each([
    [{ domain: 'shop.example' }, 'invalid_siwx_domain_mismatch'],
    [{ domain: 'evil.example' }, 'invalid_siwx_domain_mismatch'],
    [{ uri: 'https://shop.example:8443/news' }, 'invalid_siwx_uri_mismatch'],
    [{ uri: 'http://shop.example:8443/news?page=2' }, 'invalid_siwx_uri_mismatch'],
    [{ issuedAt: 'now' }, 'invalid_siwx_issued_at'],
    [{ issuedAt: at(-300_001) }, 'invalid_siwx_issued_at_too_old'],
    [{ issuedAt: at(60_001) }, 'invalid_siwx_issued_at_in_future'],
    [{ expirationTime: 'never' }, 'invalid_siwx_expiration_time'],
    [{ expirationTime: at(-1) }, 'invalid_siwx_expired'],
    [{ notBefore: 'soon' }, 'invalid_siwx_not_before'],
    [{ notBefore: at(1) }, 'invalid_siwx_not_yet_valid'],
    [{ chainId: 'eip155:0x14a34' }, 'invalid_siwx_chain_id'],
    [{ chainId: 'eip155:1' }, 'invalid_siwx_unsupported_chain'],
    [{ chainId: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' }, 'invalid_siwx_unsupported_chain'],
  ] as const)('is refused: %j', (changes, reason) => {
    expect(check(changes)).toBe(reason)
  })
})

describe('a header', () => {
  const read = (value: object | string): boolean => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return readSignIn(Buffer.from(text).toString('base64')).ok
  }

  it('is read', () => {
    expect(read(payload)).toBe(true)
  })

  it.each<[object | string]>([
    ['no JSON'],
    [[]],
    [{ ...payload, signature: undefined }],
    [{ ...payload, signature: '0x0' }],
    [{ ...payload, address: 'me' }],
    [{ ...payload, version: '2' }],
    // One part of the text would pass for another.
    [{ ...payload, statement: `Hello\n\nURI: ${URI}` }],
    [{ ...payload, resources: ['a\r\nb'] }],
  ])('is unreadable: %j', (value) => {
    expect(read(value)).toBe(false)
  })
})
