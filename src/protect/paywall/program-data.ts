import { ANSWERS_KEPT_MS, MAX_STORED_BYTES } from '../../idempotency/store.js'
import type { PageData } from './page/page-data.js'
import { PAYMENT_COOKIE } from './payment-cookie.js'
import { messageOf } from './texts/message-of.js'

/** The data that the page's program needs on every page. @param now - Milliseconds since the epoch. */
export function programData(
  now: number,
): Pick<PageData, 'messages' | 'now' | 'cookie' | 'maxStoredBytes' | 'storedSeconds'> {
  return {
    messages: messageOf,
    now: Math.floor(now / 1000),
    cookie: PAYMENT_COOKIE,
    maxStoredBytes: MAX_STORED_BYTES,
    storedSeconds: ANSWERS_KEPT_MS / 1000,
  }
}
