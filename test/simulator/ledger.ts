/** One database of several gateways: SQLite in memory, on the simulation's clock, which may not answer. */
import { LockOwner, type Liveness } from '../../src/ledger/owners/lock-owner.js'
import { SQLITE } from '../../src/ledger/engine/dialect.js'
import { loadSqlite, type SqliteConnection } from '../../src/ledger/engine/sqlite.js'
import type { LedgerStore } from '../../src/ledger/index.js'
import { SqlLedger } from '../../src/ledger/store.js'
import { sqliteStore } from '../../src/ledger/sqlite-ledger.js'
import type { Faults } from './faults.js'
import type { Life, Scheduler } from './scheduler.js'

/** Time that a method of the ledger takes (ms): the least, and the most. */
const LATENCY_MS = [1, 4] as const

/** Time for which the database does not answer (ms): some outages are longer than gateways retry. */
const OUTAGE_MS = [10, 6000] as const

const DIALECT = { ...SQLITE, now: 'CAST(x402_now() AS INTEGER)' }

/** For the simulation itself, whose own locks matter to nobody. */
const UNSEEN: Liveness = { show: async () => false, findDead: async () => [], end: async () => {} }

export class Database {
  readonly #connection: SqliteConnection
  /** The gateways by their ids as owners of locks. */
  readonly #lives = new Map<string, Life>()
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  /** When the current outage ends (ms of simulated time). */
  #awayUntil = 0

  constructor(scheduler: Scheduler, faults: Faults, now: () => number) {
    const Engine = loadSqlite()
    this.#scheduler = scheduler
    this.#faults = faults
    this.#connection = new Engine(':memory:')
    this.#connection.function('x402_now', now)
  }

  /** The ledger as the simulation itself reads it: at once, and without faults. */
  open(): LedgerStore {
    return openLedger(UNSEEN, this.#connection)
  }

  /** The ledger of a gateway. Nothing is answered once the gateway is dead. */
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
    return this.#withLatency(openLedger(liveness, this.#connect()), life) as LedgerStore
  }

  /**
   * A connection of a gateway. All gateways share the database's own one: no event comes between two statements of a
   * transaction.
   */
  #connect(): SqliteConnection {
    const shared = this.#connection
    let isInTransaction = false
    const endTransaction = (): void => {
      if (isInTransaction) shared.exec('ROLLBACK')
      isInTransaction = false
    }
    const run = <T>(work: () => T): T => {
      const fault = this.#fault()
      // A connection that breaks rolls back what was not committed.
      if (fault === 'before') endTransaction()
      if (fault === 'before') throw new Error('The simulated database does not answer.')
      const result = work()
      if (fault === undefined) return result
      endTransaction()
      throw new Error('The simulated database did not answer.')
    }
    return {
      exec(statements) {
        if (statements === 'ROLLBACK') return endTransaction()
        run(() => {
          shared.exec(statements)
          isInTransaction ||= statements.startsWith('BEGIN')
        })
      },
      prepare(statement) {
        const prepared = shared.prepare(statement)
        const isCommit = statement === 'commit'
        return {
          columns: () => prepared.columns(),
          all: (...given) => run(() => prepared.all(...given)),
          iterate: (...given) => run(() => prepared.iterate(...given)),
          run: (...given) =>
            run(() => {
              const result = prepared.run(...given)
              if (isCommit) isInTransaction = false
              return result
            }),
        }
      },
      function: (name, call) => shared.function(name, call),
      close: () => undefined,
    }
  }

  /** Whether a statement is lost before it runs, or its answer after that. Either begins an outage. */
  #fault(): 'before' | 'after' | undefined {
    const { elapsed } = this.#scheduler
    if (!this.#faults.isOn) return undefined
    if (elapsed < this.#awayUntil) return 'before'
    const fault = this.#faults.ofLedger()
    if (fault !== undefined) this.#awayUntil = elapsed + this.#faults.chance.between(...OUTAGE_MS)
    return fault
  }

  /** A part of the ledger whose methods take their time. */
  #withLatency(part: object, life: Life): object {
    const slow: Record<string, unknown> = {}
    for (const name of new Set([...Object.keys(part), ...methodsOf(part)])) {
      const member: unknown = Reflect.get(part, name)
      if (typeof member === 'function')
        slow[name] = this.#delayed(member.bind(part) as Method, life)
      else if (typeof member === 'object' && member !== null)
        slow[name] = this.#withLatency(member, life)
      else slow[name] = member
    }
    return slow
  }

  #delayed(method: Method, life: Life): Method {
    const wait = () => this.#scheduler.wait(this.#faults.chance.between(...LATENCY_MS))
    const delay = async (result: Promise<unknown>): Promise<unknown> => {
      try {
        return await result
      } finally {
        await this.#scheduler.as(life, wait)
      }
    }
    return (...given) => {
      const result = method(...given)
      return result instanceof Promise ? delay(result) : result
    }
  }
}

function openLedger(liveness: Liveness, connection: SqliteConnection): LedgerStore {
  const owner = new LockOwner(liveness)
  const store = sqliteStore({ owner, connect: () => connection, dialect: DIALECT })
  return new SqlLedger(store, owner)
}

type Method = (...given: unknown[]) => unknown

function methodsOf(part: object): readonly string[] {
  const prototype: unknown = Object.getPrototypeOf(part)
  if (prototype === Object.prototype || prototype === null) return []
  return Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor')
}
