import type { ServerResponse } from 'node:http'

/** Tells whether a response is over: its client has disconnected, or has all of it. */
export function isClosed(res: ServerResponse): boolean {
  // A response that is queued behind another one of its connection is not told that this has broken.
  return res.destroyed || res.closed || res.req.socket.destroyed
}

/** Calls back once a response is over, at once if it is already: `close` is emitted only once. */
export function onceClosed(res: ServerResponse, callback: () => void): void {
  if (isClosed(res)) callback()
  else res.once('close', callback)
}
