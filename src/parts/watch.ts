import type { ResolvedOptions } from '../config/resolve/resolve-options.js'
import { GatewayWatch, type GatewayWatchOptions } from '../health/gateway-watch.js'
import type { Telemetry } from '../telemetry/telemetry.js'

type WatchParts = Omit<GatewayWatchOptions, 'isRead' | 'logger' | 'now'> & {
  readonly telemetry: Telemetry
}

/** Looks after a gateway for its operator's webhooks, and for its metrics. */
export function openWatch(
  { logger, now }: ResolvedOptions,
  { telemetry: { metrics }, ...parts }: WatchParts,
): GatewayWatch {
  const watch = new GatewayWatch({ ...parts, logger, now, isRead: metrics !== undefined })
  metrics?.watchHealth(() => watch.readings)
  // The first scrape shall know the nodes.
  if (metrics !== undefined) void watch.look()
  return watch
}
