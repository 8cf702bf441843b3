/** Webhook signatures by Standard Webhooks (https://www.standardwebhooks.com). */
import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

const SECRET_PREFIX = 'whsec_'

/** Size of a secret in bytes. The specification allows 24 to 64. */
const SECRET_BYTES = 32
const LEAST_SECRET_BYTES = 24
const MOST_SECRET_BYTES = 64

export interface SignedMessage {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly sentAt: number
  readonly body: string
}

export function createWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** A secret is `whsec_` and 24 to 64 bytes in base64. */
export function isWebhookSecret(text: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return false
  const { length } = Buffer.from(text.slice(SECRET_PREFIX.length), 'base64')
  return length >= LEAST_SECRET_BYTES && length <= MOST_SECRET_BYTES
}

/** Makes the headers of a message. During a rotation it is signed with both secrets. */
export function signedHeaders(
  { id, sentAt, body }: SignedMessage,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const time = new Date(sentAt)
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, time, body))
  return {
    'content-type': 'application/json',
    'user-agent': 'express-x402-gateway',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sentAt / 1000)),
    'webhook-signature': signatures.join(' '),
  }
}

/**
 * Whether a message was signed with a secret within the last five minutes.
 *
 * @param headers - By lower-case name.
 */
export function isSigned(
  body: string,
  headers: Readonly<Record<string, string | undefined>>,
  secret: string,
): boolean {
  const given = Object.entries(headers).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  try {
    new Webhook(secret).verify(body, Object.fromEntries(given))
    return true
  } catch {
    return false
  }
}
