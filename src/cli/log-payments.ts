import type { Gateway } from '../gateway.js'
import type { Logger } from '../logger.js'

/** Logs each payment that is settled, pending or has failed. */
export function logPayments(gateway: Pick<Gateway, 'on'>, logger: Logger): void {
  gateway.on('settled', (payment) => logger.info('A payment is settled.', payment))
  gateway.on('pending', (payment) => logger.warn('A payment is pending.', payment))
  gateway.on('failed', (payment) => logger.warn('A payment has failed.', payment))
}
