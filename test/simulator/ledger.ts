/** One database of several gateways: SQLite in memory, whose clock is the simulation's, and which may not answer. */
import { LockOwner, type Liveness } from '../../src/ledger/owners/lock-owner.js'
import { SQLITE } from '../../src/ledger/engine/dialect.js'
import { loadSqlite, type SqliteConnection } from '../../src/ledger/engine/sqlite.js'
import type { LedgerStore } from '../../src/ledger/index.js'
import { SqlLedger } from '../../src/ledger/store.js'
import { sqliteStore } from '../../src/ledger/sqlite-ledger.js'
import { LedgerError } from '../../src/shared/errors.js'
import type { Faults } from './faults.js'
import type { Life, Scheduler } from './scheduler.js'

/** How long a statement takes (ms): the least, and the most. */
const LATENCY_MS = [1, 4] as const

export class Database {
  readonly #connection: SqliteConnection
  /** Lives by the owners of locks that they are. */
  readonly #lives = new Map<string, Life>()
  readonly #scheduler: Scheduler
  readonly #faults: Faults

  constructor(scheduler: Scheduler, faults: Faults, now: () => number) {
    const Engine = loadSqlite()
    this.#scheduler = scheduler
    this.#faults = faults
    this.#connection = new Engine(':memory:')
    this.#connection.function('x402_now', now)
  }

  /** The ledger as the simulation itself reads it: at once, and without faults. */
  open(): LedgerStore {
    return this.#ledger({ show: async () => false, findDead: async () => [], end: async () => {} })
  }

  /** The ledger of a gateway. It ends with the gateway's life: nothing that it is asked then has an answer. */
  openFor(life: Life): LedgerStore {
    const liveness: Liveness = {
      show: async (owner) => {
        this.#lives.set(owner, life)
        return true
      },
      findDead: async (owners) => owners.filter((one) => this.#lives.get(one)?.isDead === true),
      forget: (owner) => void this.#lives.delete(owner),
      end: async () => undefined,
    }
    const ledger = this.#ledger(liveness)
    return this.#withFaults(ledger, life) as LedgerStore
  }

  #ledger(liveness: Liveness): SqlLedger {
    const owner = new LockOwner(liveness)
    // All share it. What one does between two statements of a transaction, no other sees: no event comes between.
    const shared = this.#connection
    const connection: SqliteConnection = {
      exec: (statements) => shared.exec(statements),
      prepare: (statement) => shared.prepare(statement),
      function: (name, run) => shared.function(name, run),
      close: () => undefined,
    }
    const dialect = { ...SQLITE, now: 'CAST(x402_now() AS INTEGER)' }
    return new SqlLedger(sqliteStore({ owner, connect: () => connection, dialect }), owner)
  }

  /** A part of the ledger, of which each method takes its time, may fail, and may not answer. */
  #withFaults(part: object, life: Life): object {
    const wrapped: Record<string, unknown> = {}
    const names = new Set([...Object.keys(part), ...methodsOf(part)])
    for (const name of names) {
      const member: unknown = Reflect.get(part, name)
      if (typeof member === 'function')
        wrapped[name] = this.#wrap(part, member as Method, { name, life })
      else if (typeof member === 'object' && member !== null)
        wrapped[name] = this.#withFaults(member, life)
      else wrapped[name] = member
    }
    return wrapped
  }

  #wrap(part: object, method: Method, { name, life }: { name: string; life: Life }): Method {
    if (NOT_ASKED.has(name)) return method.bind(part)
    const scheduler = this.#scheduler
    const faults = this.#faults
    return (...given) => {
      const fault = faults.ofLedger()
      const run = async (): Promise<unknown> => {
        if (life.isDead) return new Promise(() => undefined)
        if (fault === 'before') {
          await scheduler.as(life, () => scheduler.wait(faults.chance.between(...LATENCY_MS)))
          throw unavailable()
        }
        const result: unknown = await method.apply(part, given)
        await scheduler.as(life, () => scheduler.wait(faults.chance.between(...LATENCY_MS)))
        if (fault === 'after') throw unavailable()
        return result
      }
      return run()
    }
  }
}

type Method = (...given: unknown[]) => unknown

/** What returns no promise, or ends a ledger. */
const NOT_ASKED = new Set(['onFreed', 'close', 'by', 'noteSent', 'watch', 'lockOf'])

function methodsOf(part: object): readonly string[] {
  const prototype: unknown = Object.getPrototypeOf(part)
  if (prototype === Object.prototype || prototype === null) return []
  return Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor')
}

const unavailable = (): LedgerError =>
  new LedgerError('ledger_unavailable', 'The simulated database does not answer.')
