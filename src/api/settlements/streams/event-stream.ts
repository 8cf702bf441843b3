import type { Response } from 'express'
import { isClosed, onceClosed } from '../../../shared/http/once-closed.js'
import { RequestProblem, SHUTTING_DOWN } from '../../../shared/http/respond-problem.js'
import type { RouterContext } from '../../context.js'
import type { EarlyCall } from '../../serve/define-endpoint.js'
import type { FeedEntry, FeedReader } from './settlement-feed.js'
import { accessCheckOf, takeSlot } from './stream-access.js'
import type { SlotOwner } from './streams.js'

/** Milliseconds between two empty comments, which keep proxies from closing the connection. */
const KEEP_ALIVE_MS = 15_000

/** Milliseconds between two checks that the reader still has access. */
const CHECK_MS = 1000

/** How soon a browser reconnects (ms). */
const RETRY_MS = 3000

/** Bytes that wait for a reader who does not read them; then its connection is cut. */
const MAX_WAITING_BYTES = 1024 * 1024

/** The events of a reader, and their form. */
export interface StreamOptions {
  readonly slots: SlotOwner
  readonly project: FeedReader['project']
  /** Only payments on this chain. */
  readonly chainId?: number | undefined
  readonly documentOf: (entry: FeedEntry) => object
}

/**
 * Opens a stream of server-sent events (WHATWG HTML §9.2): one for each payment that is new or has
 * changed.
 */
export async function openEventStream(
  context: RouterContext,
  { req, res }: EarlyCall,
  { slots, project, chainId, documentOf }: StreamOptions,
): Promise<void> {
  const { feed, readers } = context.streams
  const isOpen = accessCheckOf(context, req, res)
  if (req.method === 'HEAD') return void writeHead(res).end()
  const free = takeSlot(readers, { owner: slots, what: 'event streams', req, res })
  const stream = new EventStream(res, documentOf)
  const remove = await feed
    .add({
      project,
      take: (entries) =>
        stream.write(
          entries.filter(({ record }) => (chainId ?? record.chainId) === record.chainId),
        ),
      end: () => stream.end(),
    })
    .catch((error: unknown) => {
      free()
      throw error
    })
  onceClosed(res, remove)
  if (isClosed(res)) return
  if (feed.isClosed) throw new RequestProblem(SHUTTING_DOWN.code, SHUTTING_DOWN.detail)
  stream.begin(isOpen)
}

/** Headers that keep caches, compression and proxies from holding events back. */
function writeHead(res: Response): Response {
  return res.status(200).set({
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store, no-transform',
    'X-Accel-Buffering': 'no',
  })
}

/** One connection to a reader. */
class EventStream {
  readonly #res: Response
  readonly #documentOf: (entry: FeedEntry) => object
  #isBegun = false

  constructor(res: Response, documentOf: (entry: FeedEntry) => object) {
    this.#res = res
    this.#documentOf = documentOf
  }

  /** Sends the head, and ends the stream once `isOpen` says so. */
  begin(isOpen: () => Promise<boolean>): void {
    const res = this.#res
    this.#isBegun = true
    writeHead(res).flushHeaders()
    res.write(`retry: ${RETRY_MS}\n\n`)
    const keepAlive = setInterval(() => res.write(': keep-alive\n\n'), KEEP_ALIVE_MS)
    let isChecking = false
    const check = setInterval(() => {
      if (isChecking) return
      isChecking = true
      isOpen()
        .then((open) => open || this.end())
        // While the ledger does not answer, readers keep their access, as other requests do.
        .catch(() => undefined)
        .finally(() => (isChecking = false))
    }, CHECK_MS)
    onceClosed(res, () => {
      clearInterval(keepAlive)
      clearInterval(check)
    })
  }

  write(entries: readonly FeedEntry[]): void {
    // Events before the head need not be sent: the reader's first list shows them.
    if (!this.#isBegun || this.#res.writableEnded) return
    for (const entry of entries) {
      const { id, updatedAt } = entry.record
      const data = JSON.stringify(this.#documentOf(entry))
      this.#res.write(`event: settlement\nid: ${updatedAt}.${id}\ndata: ${data}\n\n`)
    }
    if (this.#res.writableLength > MAX_WAITING_BYTES) this.#res.destroy()
  }

  end(): void {
    if (this.#isBegun) this.#res.end()
  }
}
