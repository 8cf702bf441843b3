import type { Network } from '../../shared/protocol/networks.js'
import type { EventBus } from '../../core/schemes/events.js'
import { Metrics } from './metrics.js'
import type { PaymentWatcher, PaymentEnd, PaymentWatch } from './payment-watch.js'
import type * as OpenTelemetry from '@opentelemetry/api'
import { isOutsideFailure } from '../../shared/errors.js'
import { requirePeers } from '../../ledger/engine/require-peers.js'
import { recordId } from '../../ledger/index.js'
import type { PresentedPayment } from '../../core/schemes/scheme.js'

export interface Telemetry {
  readonly metrics: Metrics | undefined
  /** Watchers of payments; none by default. */
  readonly watchers: readonly PaymentWatcher[]
}

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

const NAME = 'express-x402-gateway'

/** Longest attribute with a client's text. */
const MAX_TEXT = 128

/**
 * Makes a span for each payment, with a child for each phase. Its parent is the app's span of the request,
 * if there is one.
 *
 * @throws `ConfigError` if the package `@opentelemetry/api` is missing.
 */
function createTracer(): PaymentWatcher {
  const [peer] = requirePeers(['@opentelemetry/api'], undefined, 'traces')
  const api = peer as typeof OpenTelemetry
  return {
    begin(presented) {
      // Looked up each time: the app may set up its SDK after the gateway.
      const tracer = api.trace.getTracer(NAME)
      const span = tracer.startSpan('x402 payment', { attributes: attributesOf(presented) })
      const context = api.trace.setSpan(api.context.active(), span)
      return watchBy({ api, tracer, span, context })
    },
  }
}

interface PaymentSpan {
  readonly api: typeof OpenTelemetry
  readonly tracer: OpenTelemetry.Tracer
  readonly span: OpenTelemetry.Span
  /** Has the span as parent. */
  readonly context: OpenTelemetry.Context
}

function watchBy({ api, tracer, span, context }: PaymentSpan): PaymentWatch {
  return {
    phase(name) {
      const child = tracer.startSpan(`x402 ${name}`, {}, context)
      return () => child.end()
    },
    submitted: (transaction) => void span.setAttribute('x402.transaction', transaction),
    end(how) {
      span.setAttributes(endAttributes(how))
      if (how.kind === 'error') span.setStatus({ code: api.SpanStatusCode.ERROR })
      span.end()
    },
  }
}

/** Public attributes of a payment: never its signature or the URL that it pays for. */
function attributesOf({ payment, terms, purpose }: PresentedPayment): OpenTelemetry.Attributes {
  const { requirements, network, key, facts } = payment
  const { amount, asset, payTo, scheme } = requirements
  return {
    'x402.purpose': purpose,
    'x402.scheme': short(scheme),
    'x402.network': network?.caip2 ?? 'unknown',
    'x402.asset': short(asset),
    'x402.amount': short(amount),
    'x402.pay_to': short(payTo),
    ...(facts && { 'x402.payer': facts.payer }),
    ...(key && { 'x402.payment': recordId(key) }),
    ...(terms?.project !== undefined && { 'x402.project': terms.project }),
  }
}

function endAttributes(how: PaymentEnd): OpenTelemetry.Attributes {
  switch (how.kind) {
    case 'not_settled': {
      const { reason, transaction } = how
      const sent = transaction ? { 'x402.transaction': transaction } : {}
      return { 'x402.outcome': how.kind, 'x402.reason': short(reason), ...sent }
    }
    case 'error': {
      const code = isOutsideFailure(how.error) ? how.error.code : 'internal_error'
      return { 'x402.outcome': how.kind, 'error.type': code }
    }
    case 'verified':
    case 'settled':
    case 'released':
    case 'undelivered':
      return { 'x402.outcome': how.kind }
  }
}

/** API clients may send texts of any length. */
const short = (text: string): string => text.slice(0, MAX_TEXT)
