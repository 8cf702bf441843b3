import type { RouterContext } from '../../context.js'
import { defineEndpoint, type EarlyCall } from '../../serve/define-endpoint.js'
import { owned, type PaymentsOwner, type ViewScope } from '../../serve/owner.js'
import { filterQuery, ledgerFilters } from '../settlement-query.js'
import { pricedBy, type IsWanted } from '../settlement-search.js'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import {
  exportedOf,
  exportWriter,
  withRefunds,
  type ExportedPayment,
} from '../../../ledger/export-format.js'
import { type LedgerQuery, type LedgerRecord, EVERY_PROJECT } from '../../../ledger/index.js'
import { dayName, dayOf, UTC, type TimeZone } from '../../../ledger/time-zone.js'
import { isClosed, onceClosed } from '../../../shared/http/once-closed.js'
import { RETRY_AFTER_SECONDS } from '../../../shared/http/problem-status.js'
import { RequestProblem } from '../../../shared/http/respond-problem.js'
import { projectOf } from '../../serve/authenticate.js'
import { requestFields } from '../../serve/log-fields.js'
import { limitKeyOf } from '../../serve/rate-limit.js'
import { recordPages } from '../record-pages.js'
import type { Downloads, SlotOwner } from './downloads.js'
import { world } from '../../../shared/world.js'

export function downloadEndpoint<Context extends RouterContext>(owner: PaymentsOwner<Context>) {
  return defineEndpoint({
    ...owned(owner, 'downloadSettlements', { tag: 'Settlements', scope: 'read' }),
    method: 'GET',
    path: `${owner.prefix}/settlements.csv`,
    summary: 'Download settlements as CSV',
    description:
      'All pages of the list as one file, in the columns of `ledger export`, with a row for each refund and times in `timeZone`. The sum of `net` is what is left of a token. Reservations are in it only if they are asked for by `status`. A download that is cut ends in an error of the connection.',
    query: owner.withScope(filterQuery),
    responses: {
      200: { description: 'The file.', type: 'text/csv', headers: ['Content-Disposition'] },
    },
    problems: ['server_busy'],
    async respond(context: Context, call) {
      const scope = owner.scopeOf(context, call)
      await downloadSettlements(context, call, {
        slots: owner.slots,
        scope,
        filters: ledgerFilters(call.query),
        isPriced: pricedBy(call.query, scope.accepts),
        zone: call.query.timeZone,
      })
    },
  })
}

/** Records that are read at once: payments wait for them, 13 ms on SQLite. */
const PAGE = 100

/**
 * Least bytes a second that a client must read while data waits for it, and the seconds over which that is
 * measured. A slower one is cut off: it would keep its slot for as long as it likes.
 */
const LEAST_RATE = 16 * 1024
const RATED_SECONDS = 30

interface DownloadOptions {
  readonly slots: SlotOwner
  readonly scope: ViewScope
  readonly filters: Omit<LedgerQuery, 'project' | 'limit'>
  readonly isPriced: IsWanted | undefined
  /** Zone of the times in it. @defaultValue UTC */
  readonly zone?: TimeZone | undefined
}

/**
 * Responds with all pages of a list as one file, in the columns of `ledger export`, refunds included. Payments
 * that are only reserved are in it if they are asked for: nothing was paid by them.
 */
async function downloadSettlements(
  context: RouterContext,
  { req, res }: EarlyCall,
  { slots, scope: { project, accepts }, filters, isPriced, zone }: DownloadOptions,
): Promise<void> {
  const { downloads } = context
  const free = takeSlot(downloads, slots, { req, res })
  let endRating = (): void => undefined
  try {
    const pages = recordPages(context.ledger, { ...filters, kind: 'any', project, limit: PAGE })
    const { head, line } = exportWriter('csv', accepts, zone)
    const isWritten = (record: LedgerRecord) =>
      (record.state !== 'reserved' || filters.state === 'reserved') && (isPriced?.(record) ?? true)
    const lines = async (page: readonly LedgerRecord[]): Promise<string> =>
      (await exportedPage(context, page.filter(isWritten))).map(line).join('')
    /** The next page; of a client that is gone, no more. */
    const next = () =>
      downloads.inTurn(async () => {
        const page = isClosed(res) ? undefined : (await pages.next()).value
        return page && lines(page)
      })
    // Read before the head is sent, so that a failing ledger is a problem response and not half a file.
    const first = await next()
    const until = dayName(dayOf(zone ?? UTC, context.now()))
    const about = project === EVERY_PROJECT ? '' : `-${project.replaceAll(/[^\w.-]/g, '_')}`
    res.set({
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': `attachment; filename="settlements${about}-${until}.csv"`,
      'Cache-Control': 'no-store, no-transform',
      'X-Content-Type-Options': 'nosniff',
    })
    if (req.method === 'HEAD') return void res.end()
    if (isClosed(res)) return
    endRating = cutSlowClient(res)
    async function* text() {
      yield head
      for (let page = first; page !== undefined; page = await next()) yield page
    }
    await pipeline(Readable.from(text()), res)
  } catch (error) {
    if (isEndOfConnection(error)) return
    if (!res.headersSent) {
      if (isClosed(res)) return
      throw error
    }
    // The pipeline has cut the connection, so that a part of the file is not taken for the whole.
    res.destroy()
    context.logger.warn('A download of settlements was cut.', {
      ...requestFields(context, req, res),
      error,
    })
  } finally {
    endRating()
    free()
  }
}

/**
 * Takes a slot. A project has its share once: its tokens and all sessions count together.
 *
 * @returns A function that gives the slot back. It is given back anyway when the connection ends.
 * @throws {@link RequestProblem} 429 or 503 with `Retry-After`
 */
function takeSlot(
  { slots }: Downloads,
  owner: SlotOwner,
  { req, res }: Pick<EarlyCall, 'req' | 'res'>,
): () => void {
  const project = owner === 'projects' ? projectOf(res)?.id : undefined
  const taken = slots[owner].take(project ?? limitKeyOf(req, res))
  if (typeof taken === 'function') {
    onceClosed(res, taken)
    return taken
  }
  res.set('Retry-After', String(RETRY_AFTER_SECONDS))
  throw taken === 'perKey'
    ? new RequestProblem(
        'rate_limited',
        'You have too many downloads open at once: close one first.',
      )
    : new RequestProblem('server_busy', 'The gateway has too many downloads open at once.')
}

async function exportedPage(
  { ledger: { refunds } }: RouterContext,
  page: readonly LedgerRecord[],
): Promise<readonly ExportedPayment[]> {
  const ids = page.map(({ id }) => id)
  const [refunded, requests] = await Promise.all([refunds.refundedOf(ids), refunds.requestsOf(ids)])
  return page.map((record) => withRefunds(exportedOf(record), { refunded, requests }))
}

/** Whether a pipeline failed because its response was closed, not because the ledger failed. */
function isEndOfConnection(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** Cuts the connection to a client that reads less than {@link LEAST_RATE}. @returns Ends it. */
function cutSlowClient(res: Response): () => void {
  const readBytes = (): number =>
    (res.socket?.bytesWritten ?? 0) - (res.socket?.writableLength ?? 0)
  let before = readBytes()
  let seconds = 0
  const timer = world.setInterval(() => {
    // While the ledger is slow, nothing waits for the client.
    if (res.writableLength === 0) return
    seconds += 1
    if (seconds < RATED_SECONDS) return
    const read = readBytes()
    if (read - before < LEAST_RATE * RATED_SECONDS) res.destroy()
    before = read
    seconds = 0
  }, 1000)
  return () => world.clearInterval(timer)
}
