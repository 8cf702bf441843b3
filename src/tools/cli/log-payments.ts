import type { Gateway } from '../../gateway/gateway.js'
import type { Logger } from '../../shared/logger.js'

/** Logs each payment and refund that is settled, pending or has failed. */
export function logPayments(gateway: Pick<Gateway, 'on'>, logger: Logger): void {
  gateway.on('settled', (payment) => logger.info('A payment is settled.', fieldsOf(payment)))
  gateway.on('pending', (payment) => logger.warn('A payment is pending.', fieldsOf(payment)))
  gateway.on('failed', (payment) => logger.warn('A payment has failed.', fieldsOf(payment)))
  gateway.on('refundSettled', (refund) => logger.info('A refund is settled.', fieldsOf(refund)))
  gateway.on('refundPending', (refund) => logger.warn('A refund is pending.', fieldsOf(refund)))
  gateway.on('refundFailed', (refund) => logger.warn('A refund has failed.', fieldsOf(refund)))
}

/** A URL's query may hold what is the buyer's alone. */
function fieldsOf({
  resource: _url,
  ...fields
}: {
  readonly resource?: string | undefined
}): object {
  return fields
}
