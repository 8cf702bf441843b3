import { describe, expect, it } from '@jest/globals'
import { Challenge } from 'mppx-0.11'
import {
  isOwn,
  nameChallenge,
  partCredentials,
  writeChallenge,
} from '../../../src/shared/protocol/mpp.js'

const KEY = 'a secret of the server'
const unnamed = {
  realm: 'shop.example',
  method: 'evm',
  intent: 'charge',
  // {"amount":"1"}
  request: 'eyJhbW91bnQiOiIxIn0',
  expires: '2026-12-01T00:00:00.000Z',
  digest: 'sha-256=:AAAA:',
  // {"for":"x"}
  opaque: 'eyJmb3IiOiJ4In0',
}

describe('a challenge', () => {
  const name = (challenge: typeof unnamed) => nameChallenge(Buffer.from(KEY), challenge)
  const written = writeChallenge(name(unnamed))
  const read = Challenge.deserialize(written)

  it('is read by mppx, which names it the same', () => {
    expect(read).toEqual({ ...unnamed, id: read.id, request: { amount: '1' } })
    const { id } = Challenge.from({ ...unnamed, request: { amount: '1' }, secretKey: KEY })
    expect(read.id).toBe(id)
  })

  it('may have a host with a quotation mark', () => {
    const realm = 'a"b'
    const odd = Challenge.deserialize(writeChallenge(name({ ...unnamed, realm })))
    expect(odd.realm).toBe(realm)
  })

  it('is known again by its key alone', () => {
    const challenge = { ...unnamed, id: read.id }
    expect(isOwn(Buffer.from(KEY), challenge)).toBe(true)
    expect(isOwn(Buffer.from('another'), challenge)).toBe(false)
    // No member takes a part of its neighbour.
    expect(isOwn(Buffer.from(KEY), { ...challenge, realm: 'shop', method: '.exampleevm' })).toBe(
      false,
    )
  })
})

describe('an Authorization', () => {
  it.each([
    ['Payment abc', ['abc'], ''],
    ['payment  abc', ['abc'], ''],
    ['Payment', [''], ''],
    ['Bearer x', [], 'Bearer x'],
    ['Bearer x, Payment abc', ['abc'], 'Bearer x'],
    ['Payment a,Payment b', ['a', 'b'], ''],
    ['Digest u="a, Payment b", r="c"', [], 'Digest u="a, Payment b", r="c"'],
    ['Digest u="a\\", Payment b", Payment c', ['c'], 'Digest u="a\\", Payment b"'],
    ['Digest u="a, Payment b', [], 'Digest u="a, Payment b'],
    ['Payments a', [], 'Payments a'],
  ])('parts into credentials and others: %s', (text, payments, others) => {
    const parted = partCredentials(text)
    expect(parted.payments.map((one) => one.trim())).toEqual(payments)
    expect(parted.others).toBe(others)
  })
})
