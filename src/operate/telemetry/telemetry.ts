import type { Network } from '../../shared/protocol/networks.js'
import type { EventBus } from '../../core/schemes/events.js'
import { Metrics } from './metrics.js'
import type { PaymentWatcher } from './payment-watch.js'
import { createTracer } from './traces.js'

/** Metrics and traces of a gateway. */
export interface Telemetry {
  readonly metrics: Metrics | undefined
  /** Watchers of payments; none by default. */
  readonly watchers: readonly PaymentWatcher[]
}

/** A gateway's options for telemetry. */
export interface TelemetryOptions {
  readonly metrics: object | undefined
  readonly traces: boolean
  readonly networks: readonly { readonly network: Network }[]
}

/** Sets up telemetry. @throws `ConfigError` if a package is missing. */
export function openTelemetry(options: TelemetryOptions, events: EventBus): Telemetry {
  const networks = options.networks.map(({ network }) => network.caip2)
  const metrics = options.metrics && new Metrics({ events, networks })
  const tracer = options.traces ? createTracer() : undefined
  return { metrics, watchers: [metrics, tracer].filter((one) => one !== undefined) }
}
