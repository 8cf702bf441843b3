import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import {
  findAcceptedAsset,
  findProjectByHash,
  type Project,
} from '../../../src/core/merchants/project.js'
import {
  createToken,
  digestToken,
  hashToken,
  parseConfiguredToken,
} from '../../../src/shared/crypto/identify-token.js'
import { findKnownAsset } from '../../../src/shared/money/assets.js'
import { findNetwork } from '../../../src/shared/protocol/networks.js'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const project = (id: string, ...tokens: string[]): Project => ({
  id,
  tokenHashes: tokens.map((token) => Buffer.from(sha256(token), 'hex')),
})

describe('a token', () => {
  it('is new each time, and long enough not to be guessed', () => {
    const tokens = Array.from({ length: 100 }, createToken)
    expect(new Set(tokens).size).toBe(100)
    for (const token of tokens) expect(token).toMatch(/^x402_[\w-]{43}$/)
  })

  it('is found again by its hash', () => {
    const token = createToken()
    expect(hashToken(token)).toBe(`sha256:${sha256(token)}`)
    expect(parseConfiguredToken(hashToken(token))?.toString('hex')).toBe(sha256(token))
    expect(parseConfiguredToken(token)?.toString('hex')).toBe(sha256(token))
  })

  it('can have its hash in capitals', () => {
    const hash = sha256('x402_a-token-of-a-shop')
    expect(parseConfiguredToken(`SHA256:${hash.toUpperCase()}`)?.toString('hex')).toBe(hash)
  })

  it.each([
    ['is too short', 'x402_too-short'],
    ['is empty', ''],
    ['is a hash cut short', `sha256:${'a'.repeat(63)}`],
    ['is a hash with something after it', `sha256:${'a'.repeat(65)}`],
    ['is a hash that is not hexadecimal', `sha256:${'g'.repeat(64)}`],
  ])('is refused if it %s', (_name, text) => {
    expect(parseConfiguredToken(text)).toBeUndefined()
  })
})

describe('findProjectByHash', () => {
  const projects = [
    project('one', 'token-1a', 'token-1b'),
    project('none'),
    project('two', 'token-2'),
  ]

  it.each([
    ['token-1a', 'one'],
    ['token-1b', 'one'],
    ['token-2', 'two'],
  ])('finds the project of %s', (token, id) => {
    expect(findProjectByHash(projects, digestToken(token))?.id).toBe(id)
  })

  it.each(['', 'token-1', 'token-1a ', 'TOKEN-1A', `sha256:${sha256('token-1a')}`])(
    'finds no project for %j',
    (token) => {
      expect(findProjectByHash(projects, digestToken(token))).toBeUndefined()
    },
  )
})

describe('findAcceptedAsset', () => {
  const network = findNetwork('base')!
  const usdc = findKnownAsset(network, 'USDC')!
  const merchant = { accepts: [usdc] }

  it.each([
    ['base', 'USDC'],
    ['eip155:8453', 'USDC'],
    ['base', usdc.address.toLowerCase()],
  ])('finds what is accepted on %s as %s', (id, asset) => {
    expect(findAcceptedAsset(merchant, { network: id, asset })).toBe(usdc)
  })

  it.each([
    ['base-sepolia', 'USDC'],
    ['base', 'usdc'],
    ['base', 'EURC'],
    ['nowhere', 'USDC'],
  ])('finds nothing on %s as %s', (id, asset) => {
    expect(findAcceptedAsset(merchant, { network: id, asset })).toBeUndefined()
  })
})
