import { newDeliveryId } from '../delivery-id.js'
import type { ProjectStore } from '../projects.js'
import { isFinal, type LedgerRecord } from '../record.js'
import { transactionOf } from '../record-transaction.js'
import { isRefundRecord } from '../refunds.js'
import type { WebhookEvent, WebhookStore } from '../webhook-store.js'
import { MemoryDeliveries } from './memory-deliveries.js'
import { MemoryEndpoints } from './memory-endpoints.js'
import { MemoryRelayerAlerts } from './memory-relayer-alerts.js'
import type { RecordWatch } from './payment-records.js'

/** Endpoints and deliveries of webhooks in memory: they end with their process, as the payments do. */
export class MemoryWebhooks implements WebhookStore, RecordWatch {
  readonly endpoints: MemoryEndpoints
  readonly deliveries: MemoryDeliveries
  readonly relayerAlerts: MemoryRelayerAlerts

  /**
   * @param now - Milliseconds since the epoch.
   * @param projects - Keeps the audit log.
   */
  constructor(now: () => number, projects: Pick<ProjectStore, 'noteAct'>) {
    const onDeleted = (id: string): void => this.deliveries.forgetEndpoint(id)
    this.endpoints = new MemoryEndpoints({ now, projects, onDeleted })
    this.deliveries = new MemoryDeliveries(now, this.endpoints)
    const { endpoints, deliveries } = this
    this.relayerAlerts = new MemoryRelayerAlerts({ now, endpoints, deliveries })
  }

  isWatched(project: string | undefined): boolean {
    return project !== undefined && this.endpoints.has(project)
  }

  noteChange(before: LedgerRecord, after: LedgerRecord): void {
    const type = eventOf(before, after)
    if (type === undefined) return
    const version = this.deliveries.lastVersion(after.id) + 1
    // A payment is announced as pending once at most.
    if (type === 'payment.pending' && version > 1) return
    for (const { id, project, events } of this.endpoints.of(after.project ?? '')) {
      if (!events.includes(type)) continue
      this.deliveries.put({
        ...{ id: newDeliveryId(), endpoint: id, project, type },
        ...{ payment: after.id, version, record: after },
      })
    }
  }

  close(): void {
    this.endpoints.clear()
    this.deliveries.clear()
  }
}

/** The event for a change, as in the triggers of the SQL ledgers. */
function eventOf(before: LedgerRecord, after: LedgerRecord): WebhookEvent | undefined {
  const isRefund = isRefundRecord(after)
  switch (after.state) {
    case 'reserved':
      return undefined
    case 'submitted':
      return before.locked && !after.locked && !isRefund ? 'payment.pending' : undefined
    case 'settled':
    case 'failed':
      if (before.state === after.state && transactionOf(before) === after.transaction)
        return undefined
      if (isRefund) return `refund.${after.state}`
      return isFinal(before) ? 'payment.corrected' : `payment.${after.state}`
  }
}
