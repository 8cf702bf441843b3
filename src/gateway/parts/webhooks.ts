import { watchCheckouts } from '../../sell/links/watch-checkouts.js'
import type { LedgerStore } from '../../ledger/index.js'
import type { ResolvedOptions } from '../config/resolve/resolve-options.js'
import type { ProjectDirectory } from '../../core/merchants/project-directory.js'
import { checkoutDocument } from '../../api/checkouts/payment-link-document.js'
import { settlementDescriber } from '../../api/settlements/settlement-document.js'
import { WebhookDispatcher } from '../../operate/webhooks/dispatcher.js'
import type { CoreParts } from './core.js'

/** Delivers webhooks, until it is closed. */
export type Webhooks = Pick<WebhookDispatcher, 'wake' | 'close'>

/** Makes the ledger's declared webhooks those of the configuration. */
export async function declareWebhooks(
  { webhooks: { declared }, projects, logger }: ResolvedOptions,
  ledger: Pick<LedgerStore, 'webhooks'>,
): Promise<void> {
  if (declared === undefined) return
  const ids = projects.map(({ id }) => id)
  for (const { id, project } of await ledger.webhooks.endpoints.declare(ids, declared))
    logger.warn('A webhook was deleted: the configuration no longer declares it.', {
      webhook: id,
      project,
    })
}

/** Delivers webhooks: what this process has settled at once, and what others have left. */
export function openWebhooks(
  resolved: ResolvedOptions,
  parts: Pick<CoreParts, 'ledger' | 'events' | 'telemetry'> & {
    readonly directory: ProjectDirectory
  },
): Webhooks {
  const { ledger, events, directory, telemetry } = parts
  const { deliveries } = ledger.webhooks
  const describe = settlementDescriber((id) => directory.findMerchant(id), resolved.networkNames)
  const dispatcher = new WebhookDispatcher({
    ...resolved,
    deliveries,
    describe,
    onAttempt: (kind) => telemetry.metrics?.countDelivery(kind),
  })
  for (const name of [
    ...(['settled', 'failed', 'pending'] as const),
    ...(['refundSettled', 'refundFailed', 'refundPending'] as const),
  ])
    events.on(name, () => dispatcher.wakeSoon())
  const endWatch = watchCheckouts({
    checkouts: ledger.checkouts,
    describe: checkoutDocument,
    onEvent: () => dispatcher.wake(),
  })
  return {
    wake: (endpoint) => dispatcher.wake(endpoint),
    async close() {
      endWatch()
      await dispatcher.close()
    },
  }
}
