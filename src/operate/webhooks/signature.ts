/** Webhook signatures by Standard Webhooks (https://www.standardwebhooks.com). */
import { Webhook } from 'standardwebhooks'

export interface SignedMessage {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly sentAt: number
  readonly body: string
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
