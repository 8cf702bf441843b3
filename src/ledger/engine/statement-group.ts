import { coalesce, FailedByItem } from '../../shared/coalesce.js'
import { mayPass, type SqlDatabase, type SqlStore } from './store.js'

const MOST_MEMBERS = 500

/** How long a statement that hangs holds up the next group (ms). */
const MOST_WAITED_MS = 250

/**
 * Runs one statement for what many callers want at the same time.
 *
 * Members whose statement fails for a reason of its own are tried again one by one: one that cannot be
 * written does not fail the others.
 */
export class StatementGroup<Member, Result> {
  /** Runs the statement for this member, beside others. @throws {@link LedgerError} */
  readonly add: (member: Member) => Promise<Result>

  /** @param run - Runs the statement. Returns the result of each member, in their order. */
  constructor(
    store: SqlStore,
    run: (database: SqlDatabase, members: readonly Member[]) => Promise<readonly Result[]>,
  ) {
    const runIn = async (members: readonly Member[]): Promise<readonly Result[]> => {
      let isOwn = false
      try {
        return await store.run((database) =>
          run(database, members).catch((error: unknown) => {
            isOwn = !mayPass(error)
            throw error
          }),
        )
      } catch (error) {
        throw isOwn ? new FailedByItem(error) : error
      }
    }
    this.add = coalesce({ run: runIn, most: MOST_MEMBERS, mostWaitedMs: MOST_WAITED_MS })
  }
}
