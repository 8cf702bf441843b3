/** Options of operators: webhooks and metrics. */

/**
 * Settings of webhooks, which projects register at the API.
 *
 * @example
 * ```ts
 * import { createGateway, type WebhookOptions } from 'express-x402-gateway'
 *
 * // A gateway on the machine of a developer, whose shop listens on localhost.
 * const webhooks: WebhookOptions = { allowPrivate: true }
 * const gateway = createGateway({ webhooks })
 * await gateway.close()
 * ```
 */
export interface WebhookOptions {
  /**
   * Whether webhooks may lead to private addresses, and over `http:`. Anyone with a project's token can
   * then make the gateway post to every host that it reaches: for development, and for networks where all
   * merchants are your own. @defaultValue false
   */
  readonly allowPrivate?: boolean
}

/**
 * Metrics for Prometheus.
 *
 * @example
 * ```ts
 * import type { MetricsOptions } from 'express-x402-gateway'
 *
 * const metrics: MetricsOptions = { token: process.env['METRICS_TOKEN'] ?? '' }
 * ```
 */
export interface MetricsOptions {
  /**
   * Token that Prometheus sends as `Authorization: Bearer`, at least 16 characters.
   * @defaultValue none: anyone who reaches `/metrics` can read it
   */
  readonly token?: string
  /**
   * Address on which `serve` listens for `/metrics`. One that is not of this machine needs a `token`.
   * Of no meaning in an app. @defaultValue `'127.0.0.1'`
   */
  readonly host?: string
  /** Port on which `serve` listens for `/metrics`; 0 for a free one. @defaultValue 9464 */
  readonly port?: number
}
