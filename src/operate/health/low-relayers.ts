import { formatEther } from 'viem/utils'
import type { Logger } from '../../shared/logger.js'
import type { EventBus } from '../../core/schemes/events.js'

export function warnOfLowRelayers(events: EventBus, logger: Logger): void {
  events.on('relayerLow', ({ balance, ...low }) =>
    logger.warn('A relayer is running out of gas money. Send native currency to its address.', {
      ...low,
      balance: formatEther(balance),
    }),
  )
}
