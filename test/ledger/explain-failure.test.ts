import { describe, expect, it } from '@jest/globals'
import {
  describeDatabase,
  explainFailure,
  failureKind,
  failureWords,
} from '../../src/ledger/engine/explain-failure.js'

const url = 'postgres://shop:pa55word@db.example:6432/payments?sslmode=require'
const file = '/srv/data/ledger.db'

describe('a failure of PostgreSQL', () => {
  it.each([
    ['ECONNREFUSED', /nobody listens at db\.example:6432/],
    ['ENOTFOUND', /DNS does not know db\.example/],
    ['ETIMEDOUT', /db\.example:6432 does not answer/],
    ['28P01', /refused the password of 'shop'/],
    ['28000', /does not let 'shop' into 'payments'.*pg_hba.*sslmode/],
    ['3D000', /'payments' does not exist at db\.example:6432/],
    ['42501', /'shop' may not create.*GRANT/],
    ['53300', /no connection left.*max_connections/],
    ['57P03', /starting or stopping/],
    ['25006', /is read-only.*primary/],
    ['57014', /too long/],
    ['ERR_REQUIRE_ESM', /'kysely' cannot be loaded/],
    ['MODULE_NOT_FOUND', /'kysely' cannot be loaded/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /certificate of db\.example:6432.*NODE_EXTRA_CA_CERTS/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /certificate/],
    ['TLS_NOT_SUPPORTED', /has no TLS.*sslmode/],
    ['PASSWORD_MISSING', /wants a password from 'shop'/],
    ['XX000', /'payments' at db\.example:6432 cannot be used by 'shop'/],
  ])('is explained in words, with its code: %s', (kind, words) => {
    const message = explainFailure(kind, { url })
    expect(message).toMatch(words)
    expect(message).toContain(`(${kind})`)
    expect(message).not.toContain('pa55word')
  })

  it('is explained without a name where strangers may read it', () => {
    expect(failureWords('3D000')).toBe(
      'the database does not exist at the server: create it, or correct its name',
    )
    expect(failureWords('SQLite 13: database or disk is full')).toContain('the file cannot grow')
  })

  it('names the defaults of pg for what the URL leaves out', () => {
    expect(explainFailure('3D000', { url: 'postgres:///x?host=/var/run/postgresql' })).toContain(
      "'x' does not exist at /var/run/postgresql:5432",
    )
    expect(explainFailure('28P01', { url: 'postgres://me@h' })).toContain("of 'me'")
    expect(describeDatabase({ url })).toBe("PostgreSQL 'payments' at db.example:6432, user 'shop'")
  })

  it.each([
    ['timeout exceeded when trying to connect', 'ETIMEDOUT'],
    ['Connection terminated due to connection timeout', 'ETIMEDOUT'],
    ['The server does not support SSL connections', 'TLS_NOT_SUPPORTED'],
    ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'PASSWORD_MISSING'],
    ['whatever', 'Error'],
  ])('is recognised by its message if it has no code: %s', (message, kind) => {
    expect(failureKind(new Error(message))).toBe(kind)
  })
})

describe('a failure of SQLite', () => {
  it.each([
    ['SQLite 14: unable to open database file', /cannot be opened: check that its folder/],
    ['SQLite 8: attempt to write a readonly database', /may not be written/],
    ['SQLite 5: database is locked', /database is locked: end the other program/],
    ['SQLite 517: database is locked', /database is locked: end the other program/],
    ['SQLite 11: database disk image is malformed', /is damaged.*backup/],
    ['SQLite 13: database or disk is full', /the disk is full/],
    ['SQLite 26: file is not a database', /is no SQLite database/],
    ['EACCES', /may not be opened/],
    ['EROFS', /read-only/],
    ['other', /cannot be used as a database/],
  ])('is explained in words, with its code: %s', (kind, words) => {
    const message = explainFailure(kind, { file })
    expect(message).toMatch(words)
    expect(message).toContain(file)
    expect(message).toContain(`(${kind})`)
  })
})
