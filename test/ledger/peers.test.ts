import { describe, expect, it } from '@jest/globals'
import { ConfigError } from '../../src/shared/errors.js'
import { requirePeers } from '../../src/ledger/engine/require-peers.js'

/** A `require` that finds all but some packages. */
const without =
  (...missing: string[]) =>
  (name: string): unknown => {
    if (!missing.includes(name)) return `the package ${name}`
    throw Object.assign(new Error(`Cannot find module '${name}'\nRequire stack: …`), {
      code: 'MODULE_NOT_FOUND',
    })
  }

describe('the packages of an SQL ledger', () => {
  it('are loaded when the ledger is created', () => {
    expect(requirePeers(['kysely', 'pg'], without())).toEqual([
      'the package kysely',
      'the package pg',
    ])
    expect(requirePeers(['kysely'])).toEqual([
      expect.objectContaining({ Kysely: expect.anything() }),
    ])
  })

  it.each([
    [['pg'], "needs 'pg', which is not installed: npm install pg"],
    [['kysely', 'pg'], "needs 'kysely' and 'pg', which are not installed: npm install kysely pg"],
  ])('are named in the error when they are missing: %s', (missing, message) => {
    const loading = (): unknown => requirePeers(['kysely', 'pg'], without(...missing))
    expect(loading).toThrow(ConfigError)
    expect(loading).toThrow(message)
  })

  it('are not reported as missing if one of their own dependencies is missing or broken', () => {
    const inside = (): unknown => without('pg-native')('pg-native')
    expect(() => requirePeers(['pg'], inside)).toThrow(/^Cannot find module 'pg-native'/)
    const broken = (): unknown => {
      throw new SyntaxError('broken')
    }
    expect(() => requirePeers(['pg'], broken)).toThrow(SyntaxError)
  })
})
