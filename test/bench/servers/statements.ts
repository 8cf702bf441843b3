/** Counts what a server asks of its ledger's database, where the driver is called. */
import { createRequire } from 'node:module'

/** Since the last reset. */
export const asked = {
  /** Statements that read or write. */
  statements: 0,
  /** All statements, those that begin and end a transaction among them. */
  roundTrips: 0,
}

type Method = (this: unknown, ...args: unknown[]) => unknown
type Methods = Record<string, Method>

/** @param entry - URL of the package whose drivers are counted. */
export function countStatements(entry: string): void {
  const require = createRequire(entry)
  const { Client } = require('pg') as { Client: { prototype: Methods } }
  wrap(Client.prototype, 'query', ([query]) =>
    count(typeof query === 'string' ? query : (query as { text?: string }).text),
  )
  const name = '@photostructure/sqlite'
  const sqlite = require(name) as { DatabaseSync: new (file: string) => SqliteDatabase }
  class CountedDatabase extends sqlite.DatabaseSync {
    override exec(statement: string): void {
      count(statement)
      super.exec(statement)
    }

    override prepare(statement: string): Methods {
      const prepared = super.prepare(statement)
      for (const method of ['all', 'run', 'get', 'iterate'])
        wrap(prepared, method, () => count(statement))
      return prepared
    }
  }
  // Its own class is frozen.
  const module = require.cache[require.resolve(name)]
  if (module) module.exports = { ...sqlite, DatabaseSync: CountedDatabase }
}

interface SqliteDatabase {
  exec(statement: string): void
  prepare(statement: string): Methods
}

function wrap(target: Methods, name: string, before: (args: unknown[]) => void): void {
  const original = target[name]
  if (original === undefined) return
  const value: Method = function counted(...args) {
    before(args)
    return original.apply(this, args)
  }
  Object.defineProperty(target, name, { value })
}

function count(statement = ''): void {
  if (/^(pragma|set)\b/i.test(statement)) return
  asked.roundTrips += 1
  if (!/^(begin|commit|rollback)\b/i.test(statement)) asked.statements += 1
}
