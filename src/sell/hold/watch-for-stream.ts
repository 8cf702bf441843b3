import type { Response } from 'express'
import { world } from '../../shared/world.js'

/** Time between the first and another part of a stream (ms): parts that come at once are one answer. */
const APART_MS = 50

/**
 * Watches for a response that its handler means to stream, although it is held.
 *
 * Such a response has a type that streams have, or a flushed head, and a body that is written in parts over time. An
 * ordinary answer may be long or piped, and an event stream may be one event, as MCP's are: held, they lose nothing.
 *
 * @param onStream - Called once.
 */
export function watchForStream(res: Response, onStream: () => void): void {
  const write = res.write as (...args: readonly unknown[]) => boolean
  const { flushHeaders } = res
  let isFlushed = false
  let isFound = false
  let firstAt: number | undefined
  Object.assign(res, {
    flushHeaders(): void {
      isFlushed = true
      flushHeaders.call(res)
    },
    write(...args: readonly unknown[]): boolean {
      if (!isFound && (isFlushed || hasStreamType(res))) {
        firstAt ??= world.elapsed()
        isFound = world.elapsed() - firstAt >= APART_MS
        if (isFound) onStream()
      }
      return Reflect.apply(write, res, args)
    },
  })
}

/** Events, tokens of a language model, and JSON by the line. */
const STREAM_TYPE = /^(text\/(event-stream|plain)|application\/(x-ndjson|jsonl))\b/

function hasStreamType(res: Response): boolean {
  return STREAM_TYPE.test(String(res.getHeader('content-type') ?? ''))
}
