import { describe, expect, it } from '@jest/globals'
import { ConfigError } from '../../src/errors.js'
import { requirePeers } from '../../src/ledger/sql/require-peers.js'

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
  it('are loaded when it is made', () => {
    expect(requirePeers(['kysely', 'pg'], without())).toEqual([
      'the package kysely',
      'the package pg',
    ])
    expect(requirePeers(['kysely'])).toEqual([
      expect.objectContaining({ Kysely: expect.anything() }),
    ])
  })

  it.each([
    [
      ['@photostructure/sqlite'],
      "needs '@photostructure/sqlite', which is not installed: npm install @photostructure/sqlite@1",
    ],
    [
      ['kysely', '@photostructure/sqlite'],
      "needs 'kysely' and '@photostructure/sqlite', which are not installed: npm install kysely @photostructure/sqlite@1",
    ],
  ])('are named where they are missing: %s', (missing, message) => {
    const loading = (): unknown =>
      requirePeers(['kysely', '@photostructure/sqlite'], without(...missing))
    expect(loading).toThrow(ConfigError)
    expect(loading).toThrow(message)
  })

  it('are not called missing for what is missing inside of them, or is broken', () => {
    const inside = (): unknown => without('sqlite-linux')('sqlite-linux')
    expect(() => requirePeers(['@photostructure/sqlite'], inside)).toThrow(
      /^Cannot find module 'sqlite-linux'/,
    )
    const broken = (): unknown => {
      throw new SyntaxError('broken')
    }
    expect(() => requirePeers(['@photostructure/sqlite'], broken)).toThrow(SyntaxError)
  })
})
