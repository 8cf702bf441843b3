import { setImmediate as turn } from 'node:timers/promises'
import { mayPass, type SqlDatabase, type SqlStore } from './store.js'

/** Members of a group at most. */
const MOST_MEMBERS = 500

/** Milliseconds after which a statement that hangs no longer holds up the next group. */
const MOST_WAITED_MS = 250

/** A member of a group, and who waits for its result. */
interface Waiting<Member, Result> {
  readonly member: Member
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs one statement for what many callers want at the same time.
 *
 * A group has all members that are added in one turn of the event loop, or while the previous statement runs
 * and in the turn after it.
 * Members whose statement fails for a reason of its own are tried again one by one: one that cannot be
 * written does not fail the others.
 */
export class StatementGroup<Member, Result> {
  readonly #store: SqlStore
  readonly #run: (database: SqlDatabase, members: readonly Member[]) => Promise<readonly Result[]>
  #waiting: Waiting<Member, Result>[] = []
  #isRunning = false

  /** @param run - Runs the statement. Returns the result of each member, in their order. */
  constructor(
    store: SqlStore,
    run: (database: SqlDatabase, members: readonly Member[]) => Promise<readonly Result[]>,
  ) {
    this.#store = store
    this.#run = run
  }

  /** Runs the statement for this member, beside others. @throws {@link LedgerError} */
  add(member: Member): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ member, resolve, reject })
      if (this.#isRunning) return
      this.#isRunning = true
      setImmediate(() => void this.#runAll())
    })
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const running = this.#runGroup(this.#waiting.splice(0, MOST_MEMBERS))
      let timer: NodeJS.Timeout | undefined
      const late = new Promise((resolve) => {
        timer = setTimeout(resolve, MOST_WAITED_MS).unref()
      })
      await Promise.race([running, late])
      clearTimeout(timer)
      // SQLite blocks the event loop: what came meanwhile is received in the next turn of it.
      await turn()
    }
    this.#isRunning = false
  }

  /** Runs the statement for a group. Never rejects. */
  async #runGroup(group: readonly Waiting<Member, Result>[]): Promise<void> {
    let isSpoilt = false
    const run = async (database: SqlDatabase): Promise<readonly Result[]> => {
      try {
        return await this.#run(
          database,
          group.map(({ member }) => member),
        )
      } catch (error) {
        isSpoilt = !mayPass(error)
        throw error
      }
    }
    try {
      const results = await this.#store.run(run)
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result)
    } catch (error) {
      if (isSpoilt && group.length > 1)
        await Promise.all(group.map((alone) => this.#runGroup([alone])))
      else for (const { reject } of group) reject(error)
    }
  }
}
