import { randomBytes } from 'node:crypto'

/** Names a delivery of a webhook: 128 random bits. */
export function newDeliveryId(): string {
  return `msg_${randomBytes(16).toString('hex')}`
}
