import { useMemo } from 'preact/hooks'
import { newKey } from './client.js'

/** An idempotency key per content of a form: a retry creates nothing twice. */
export function useKey(content: unknown): string {
  const text = JSON.stringify(content)
  // oxlint-disable-next-line react/exhaustive-deps -- another content has another key
  return useMemo(newKey, [text])
}
