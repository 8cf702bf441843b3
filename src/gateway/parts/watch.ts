import type { ResolvedOptions } from '../config/resolve/resolve-options.js'
import {
  GatewayWatch,
  type GatewayWatchOptions,
  type NodeReading,
} from '../../operate/health/gateway-watch.js'
import type { Metrics } from '../../operate/telemetry/metrics.js'
import type { Telemetry } from '../../operate/telemetry/telemetry.js'

type WatchParts = Omit<GatewayWatchOptions, 'isRead' | 'logger' | 'now'> & {
  readonly telemetry: Telemetry
}

/** Looks after a gateway for its operator's webhooks, and for its metrics. */
export function openWatch(
  { logger, now }: ResolvedOptions,
  { telemetry: { metrics }, ...parts }: WatchParts,
): GatewayWatch {
  const watch = new GatewayWatch({ ...parts, logger, now, isRead: metrics !== undefined })
  if (metrics === undefined) return watch
  showHealth(metrics, watch)
  // The first scrape shall know the nodes.
  void watch.look()
  return watch
}

function showHealth(metrics: Metrics, watch: GatewayWatch): void {
  const alone = (value: number) => [{ labels: {}, value }]
  const ofNodes = (valueOf: (node: NodeReading) => number | undefined) =>
    [...watch.readings.nodes].flatMap(([network, node]) => {
      const value = valueOf(node)
      return value === undefined ? [] : [{ labels: { network }, value }]
    })
  metrics.gauge({
    name: 'x402_node_up',
    help: 'Whether the node of a network answers, on the right chain, without lagging behind.',
    labels: ['network'],
    read: () => ofNodes(({ isUp }) => Number(isUp)),
  })
  metrics.gauge({
    name: 'x402_node_block_age_seconds',
    help: 'Age of the latest block that a node has.',
    labels: ['network'],
    read: () => ofNodes(({ blockAgeSeconds }) => blockAgeSeconds),
  })
  metrics.gauge({
    name: 'x402_oldest_pending_payment_seconds',
    help: 'Age of the oldest payment in the ledger whose transaction is not decided; 0 for none.',
    read: () => alone(watch.readings.oldestPendingSeconds),
  })
  metrics.gauge({
    name: 'x402_webhooks_failing',
    help: 'Webhooks to which nothing could be delivered for a day.',
    read: () => alone(watch.readings.failingWebhooks),
  })
}
