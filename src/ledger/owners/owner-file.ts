import { closeSync, existsSync, openSync, realpathSync, rmSync } from 'node:fs'
import type { Liveness } from './lock-owner.js'
import { isSqliteBusy, type SqliteConnection, type SqliteEngine } from '../engine/sqlite.js'

/**
 * Shows that a process lives by a file beside its ledger, which it keeps locked: an SQLite database in
 * an exclusive transaction. The operating system unlocks it when the process ends.
 */
export class OwnerFile implements Liveness {
  readonly #Engine: SqliteEngine
  readonly #ledgerFile: string
  #own: { readonly path: string; readonly connection: SqliteConnection } | undefined

  /** @param ledgerFile - Path of the ledger; it exists by the time that a process shows that it lives. */
  constructor(Engine: SqliteEngine, ledgerFile: string) {
    this.#Engine = Engine
    this.#ledgerFile = ledgerFile
  }

  async show(owner: string): Promise<boolean> {
    // A ledger in memory ends with its process.
    if (this.#own !== undefined || !existsSync(this.#ledgerFile)) return this.#own !== undefined
    const path = this.#pathOf(owner)
    const connection = this.#lock(path)
    if (connection !== undefined) this.#own = { path, connection }
    return connection !== undefined
  }

  async findDead(owners: readonly string[]): Promise<readonly string[]> {
    return owners.filter((owner) => {
      const path = this.#pathOf(owner)
      if (!existsSync(path)) return true
      const connection = this.#lock(path)
      connection?.close()
      return connection !== undefined
    })
  }

  forget(owner: string): void {
    rmSync(this.#pathOf(owner), { force: true })
  }

  async end(): Promise<void> {
    if (this.#own === undefined) return
    const { connection, path } = this.#own
    this.#own = undefined
    connection.close()
    rmSync(path, { force: true })
  }

  /** The same path in all processes, though they may reach the ledger by links. */
  #pathOf(owner: string): string {
    return `${realpathSync(this.#ledgerFile)}-owner-${owner}`
  }

  /** @returns `undefined` if another connection has it locked. */
  #lock(path: string): SqliteConnection | undefined {
    // Others must not lock it: a read lock of theirs would keep a dead process alive.
    closeSync(openSync(path, 'a', 0o600))
    const connection = new this.#Engine(path)
    try {
      connection.exec('PRAGMA busy_timeout = 0')
      // Nothing is written, so that no journal is needed beside the file.
      connection.exec('PRAGMA journal_mode = MEMORY')
      connection.exec('BEGIN EXCLUSIVE')
      return connection
    } catch (error) {
      connection.close()
      if (isSqliteBusy(error)) return undefined
      throw error
    }
  }
}
