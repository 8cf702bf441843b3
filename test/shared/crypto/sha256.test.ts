import { describe, expect, it } from '@jest/globals'
import { sha256 } from '../../../src/shared/crypto/sha256.js'

describe('sha256', () => {
  it.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  ])('hashes %j as FIPS 180-4 has it', (text, expected) => {
    expect(sha256(text, 'hex')).toBe(expected)
    expect(Buffer.from(sha256(text, 'base64url'), 'base64url').toString('hex')).toBe(
      sha256(text, 'hex'),
    )
  })
})
