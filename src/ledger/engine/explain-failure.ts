/** Failures of databases in words for operators. */
import type { LedgerLocation } from './location.js'
import { sqliteFailure } from './sqlite.js'

/** Messages of `pg` that come without a code, and the kind of failure they mean. */
const KIND_OF_WORDS: ReadonlyArray<readonly [RegExp, string]> = [
  [/timeout|timed out/i, 'ETIMEDOUT'],
  [/does not support SSL/i, 'TLS_NOT_SUPPORTED'],
  [/password must be a (non-empty )?string/i, 'PASSWORD_MISSING'],
  [/Connection terminated/i, 'ECONNRESET'],
]

/** The kind of a database's failure. Its message may name hosts, users and statements. */
export function failureKind(error: unknown): string {
  const { code, name, message } = error as { code?: unknown; name?: string; message?: unknown }
  const ofSqlite = sqliteFailure(error)
  if (ofSqlite !== undefined) return ofSqlite
  if (typeof code === 'string' && /^\w{1,40}$/.test(code)) return code
  const [, kind] = KIND_OF_WORDS.find(([words]) => words.test(String(message))) ?? []
  return kind ?? name ?? 'unknown failure'
}

/** Address, user and database of a PostgreSQL in quotes, without the password. */
interface Target {
  readonly at: string
  readonly user: string
  readonly database: string
}

/** A database in messages that may not name it: a probe shows them to strangers. */
const UNNAMED: Target = { at: 'the server', user: 'the user', database: 'the database' }

/** Failures of PostgreSQL by code: the problem and the remedy. */
const POSTGRES: Readonly<Record<string, (target: Target) => string>> = {
  ECONNREFUSED: ({ at }) => `nobody listens at ${at}: start PostgreSQL, or correct host and port`,
  ENOTFOUND: ({ at }) => `the DNS does not know ${at}: correct the host, or the DNS`,
  EAI_AGAIN: ({ at }) => `the DNS does not answer for ${at}: try again, or correct the host`,
  ENOENT: ({ at }) => `there is no socket at ${at}: start PostgreSQL, or correct the host`,
  ETIMEDOUT: ({ at }) => `${at} does not answer: correct host and port, or open the firewall`,
  ECONNRESET: ({ at }) => `${at} ended the connection: look into its log`,
  TLS_NOT_SUPPORTED: ({ at }) =>
    `${at} has no TLS: switch it on there, or remove sslmode from the URL`,
  PASSWORD_MISSING: ({ user, at }) =>
    `${at} wants a password from ${user}, and the URL has none: add it`,
  '28P01': ({ user, at }) => `${at} refused the password of ${user}: correct user or password`,
  '28000': ({ user, database, at }) =>
    `${at} does not let ${user} into ${database}: create the role, allow it in pg_hba.conf, ` +
    'or ask for TLS with sslmode=require in the URL',
  '3D000': ({ database, at }) =>
    `${database} does not exist at ${at}: create it, or correct its name`,
  '3F000': ({ database, at }) =>
    `no schema of the search path exists in ${database} at ${at}: create one`,
  '42501': ({ user, database, at }) =>
    `${user} may not create and change tables in ${database} at ${at}: ` +
    `GRANT USAGE, CREATE ON SCHEMA public TO ${user.replaceAll("'", '"')}`,
  '53300': ({ at }) => `${at} has no connection left: raise max_connections, or end other clients`,
  '57014': ({ database, at }) => `a statement took too long in ${database} at ${at}: see its load`,
  '57P03': ({ at }) => `${at} is starting or stopping: try again in a moment`,
  '0A000': ({ database, at }) =>
    `a view, rule or trigger of your own in ${database} at ${at} reads columns that a migration changes: ` +
    `drop it, migrate, and create it again`,
  '25006': ({ database, at }) =>
    `${database} at ${at} is read-only: connect to the primary, not to a replica`,
}

/** Codes of Node for a package that is missing, broken, or made for another Node: no second attempt loads it. */
export const UNLOADABLE = /^(ERR_)?(MODULE_NOT_FOUND|REQUIRE_|DLOPEN_|PACKAGE_)/

/** Codes of Node and OpenSSL for certificates that cannot be trusted. */
const CERTIFICATE = /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|CERT_|ERR_TLS_CERT|HOSTNAME_MISMATCH)/

/** Failures of SQLite by the primary result code. */
const SQLITE: Readonly<Record<number, string>> = {
  3: 'may not be opened: give this user read and write access to the file and its folder',
  5: 'database is locked: end the other program that writes to it',
  6: 'database is locked: end the other program that writes to it',
  8: 'may not be written: give this user write access to the file and its folder',
  10: 'cannot be read or written: check the disk',
  11: 'is damaged: stop all gateways, keep a copy, and restore a backup',
  13: 'cannot grow: the disk is full; make room',
  14: 'cannot be opened: check that its folder exists and this user may write there',
  26: 'is no SQLite database: name another file',
}

/** Failures of the file system, before SQLite is asked. */
const FILE: Readonly<Record<string, string>> = {
  EACCES: 'may not be opened: give this user read and write access to the file and its folder',
  EEXIST: 'cannot be opened: its folder is no folder',
  EISDIR: 'is a folder: name a file',
  ENOSPC: 'cannot be made: the disk is full; make room',
  ERR_INVALID_ARG_TYPE: "is no file name: write one, like './data/ledger.db'",
  ENOTDIR: 'cannot be opened: its folder is no folder',
  EROFS: 'cannot be made: the disk is read-only',
}

/**
 * Explains a failure of a database and how to fix it.
 *
 * @param kind - The failure, by {@link failureKind}.
 * @returns One sentence with host, port, database and user, or the file; never a password.
 */
export function explainFailure(kind: string, location: LedgerLocation): string {
  const words =
    'file' in location
      ? wordsOfFile(kind, location.file)
      : wordsOfPostgres(kind, targetOf(location.url))
  return `${words} (${kind})`
}

/** Explains a failure of a database that may not be named, and how to fix it. */
export function failureWords(kind: string): string {
  return kind.startsWith('SQLite') ? wordsOfFile(kind, 'the file') : wordsOfPostgres(kind, UNNAMED)
}

function wordsOfFile(kind: string, file: string): string {
  const code = Number(/^SQLite (\d+)/.exec(kind)?.[1] ?? Number.NaN) & 255
  return `${file} ${SQLITE[code] ?? FILE[kind] ?? 'cannot be used as a database'}`
}

function wordsOfPostgres(kind: string, target: Target): string {
  if (UNLOADABLE.test(kind))
    return `the package 'kysely' cannot be loaded by Node ${process.versions.node}: install the version that package.json of express-x402-gateway names`
  if (CERTIFICATE.test(kind))
    return `the certificate of ${target.at} cannot be trusted: name its authority in NODE_EXTRA_CA_CERTS, or by sslrootcert in the URL`
  return (
    POSTGRES[kind]?.(target) ??
    `${target.database} at ${target.at} cannot be used by ${target.user}`
  )
}

/** Names a database without its password. */
export function describeDatabase(location: LedgerLocation): string {
  if ('file' in location) return location.file
  const { user, database, at } = targetOf(location.url)
  return `PostgreSQL ${database} at ${at}, user ${user}`
}

/** Reads a URL as `pg` does. */
function targetOf(text: string): Target {
  if (!URL.canParse(text)) return UNNAMED
  const { hostname, port, username, pathname, searchParams } = new URL(text)
  const user = decode(username) || searchParams.get('user') || 'postgres'
  const host = searchParams.get('host') || decode(hostname) || 'localhost'
  const number = searchParams.get('port') || port || '5432'
  const database = decode(pathname.slice(1)) || user
  return { at: `${host}:${number}`, user: `'${user}'`, database: `'${database}'` }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
