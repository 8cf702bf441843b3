import { newDeliveryId } from '../delivery-id.js'
import { ALERT_PAUSE_MS, type RelayerAlertStore, type RelayerBalance } from '../relayer-alerts.js'
import { OPERATOR, type WebhookEndpoint } from '../webhook-store.js'
import type { MemoryDeliveries } from './memory-deliveries.js'

/** Options of {@link MemoryRelayerAlerts}. */
interface MemoryRelayerAlertsOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly endpoints: { of(project: string): readonly WebhookEndpoint[] }
  readonly deliveries: Pick<MemoryDeliveries, 'put'>
}

/** Alerts to the operator about low relayers, in memory. */
export class MemoryRelayerAlerts implements RelayerAlertStore {
  readonly #options: MemoryRelayerAlertsOptions
  readonly #told = new Map<string, { readonly balance: bigint; readonly at: number }>()

  constructor(options: MemoryRelayerAlertsOptions) {
    this.#options = options
  }

  async tellLow(low: RelayerBalance, data: object): Promise<boolean> {
    const { endpoints, deliveries, now } = this.#options
    const wanting = endpoints.of(OPERATOR).filter(({ events }) => events.includes('relayer.low'))
    const told = this.#told.get(nameOf(low))
    if (wanting.length === 0 || (told && now() < told.at + ALERT_PAUSE_MS)) return false
    this.#told.set(nameOf(low), { balance: low.balance, at: now() })
    const event = { project: OPERATOR, type: 'relayer.low', data }
    for (const { id: endpoint } of wanting)
      deliveries.put({ ...event, endpoint, id: newDeliveryId() })
    return true
  }

  async noteFunded(funded: RelayerBalance): Promise<void> {
    const told = this.#told.get(nameOf(funded))
    if (told !== undefined && funded.balance > told.balance) this.#told.delete(nameOf(funded))
  }
}

const nameOf = ({ chainId, relayer }: RelayerBalance): string =>
  `${chainId}:${relayer.toLowerCase()}`
