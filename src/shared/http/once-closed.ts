import type { ServerResponse } from 'node:http'

/** Whether a response is over: its client has disconnected or received all of it. */
export function isClosed(res: ServerResponse): boolean {
  // A response queued behind another one does not learn that its connection broke.
  return res.destroyed || res.closed || res.req.socket.destroyed
}

/** Calls back when a response is over, at once if it already is: `close` is emitted only once. */
export function onceClosed(res: ServerResponse, callback: () => void): void {
  if (isClosed(res)) callback()
  else res.once('close', callback)
}
