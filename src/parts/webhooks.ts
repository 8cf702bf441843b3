import type { ResolvedOptions } from '../config/resolve/resolve-options.js'
import type { ProjectDirectory } from '../merchants/project-directory.js'
import { settlementDescriber } from '../router/settlement-document.js'
import { WebhookDispatcher } from '../webhooks/dispatcher.js'
import type { CoreParts } from './core.js'

/** Delivers webhooks: what this process has settled at once, and what others have left. */
export function openWebhooks(
  resolved: ResolvedOptions,
  parts: Pick<CoreParts, 'ledger' | 'events' | 'telemetry'> & {
    readonly directory: ProjectDirectory
  },
): WebhookDispatcher {
  const { ledger, events, directory, telemetry } = parts
  const { deliveries } = ledger.webhooks
  const describe = settlementDescriber((id) => directory.findMerchant(id), resolved.networkNames)
  const dispatcher = new WebhookDispatcher({
    ...resolved,
    deliveries,
    describe,
    onAttempt: (kind) => telemetry.metrics?.countDelivery(kind),
  })
  for (const name of ['settled', 'failed', 'pending'] as const)
    events.on(name, () => dispatcher.wakeSoon())
  return dispatcher
}
