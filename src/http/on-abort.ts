/**
 * Calls a function once a signal is aborted: at once if it is already.
 *
 * @returns Removes the listener.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}
