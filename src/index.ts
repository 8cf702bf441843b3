/**
 * x402 v2 payments for Express: a middleware, and a payment gateway on the same core.
 *
 * @packageDocumentation
 */
import './shared/http/check-node.js'
import type { Router } from 'express'
import { defaultGateway } from './gateway/default-gateway.js'
import { requireCall } from './shared/http/require-call.js'
import type { X402Protect } from './sell/flow/x402-protect.js'
import type { GatewayRouterOptions } from './api/gateway-router.js'

/**
 * Declares that a route costs money, on the default gateway.
 *
 * A request without a payment gets a 402 with the ways to pay (x402 v2 §5.1). A payment is verified
 * first and settled once the handler has answered; answers of 400 and above are not charged.
 *
 * The default gateway is built from `X402_*` environment variables when the first route is declared;
 * {@link defaultGateway} adds options. For a gateway of your own, use {@link createGateway}.
 *
 * @param price - `'$0.01'`, `'0.01 EUR'`, atomic units of a token, or a function of the request.
 * @param options - Description, merchant, payment flow and more.
 * @returns An Express middleware. The handler behind it finds the payment in `req.x402`.
 * @throws {@link ConfigError} with code `config_invalid`, naming every variable that is missing or
 * wrong, and every option that cannot work.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { x402Protect } from 'express-x402-gateway'
 *
 * const app = express()
 * app.get('/weather', x402Protect('$0.01'), (req, res) => {
 *   res.json({ forecast: 'sunny', paidBy: req.x402?.payer })
 * })
 * ```
 */
export const x402Protect: X402Protect = (price, options) => {
  requireCall(price)
  return defaultGateway().x402Protect(price, options)
}

/**
 * The payment gateway API of the default gateway, as an Express router.
 *
 * Under the path where it is mounted, it serves `/api/v2/payment/*`, `/api/v2/merchant/*` and `/ucp/*`,
 * and describes itself at `/api/v2/openapi.json` and `/api/v2/docs`. Every other path is left to the app.
 * The gateway is the one that {@link x402Protect} uses.
 *
 * @param options - The parts to serve.
 * @returns A router for `app.use`.
 * @throws {@link ConfigError} with code `config_invalid`, naming every variable that is missing or
 * wrong.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { gatewayRouter } from 'express-x402-gateway'
 *
 * const app = express()
 * app.use('/pay', gatewayRouter())
 * ```
 */
export const gatewayRouter = (options?: GatewayRouterOptions): Router =>
  defaultGateway().gatewayRouter(options)

export {
  ChainError,
  ChargeError,
  ConfigError,
  FacilitatorError,
  GatewayError,
  HookError,
  LedgerError,
  RateError,
  RelayerError,
  type ChainErrorCode,
  type ChargeErrorCode,
  type ConfigErrorCode,
  type ConfigIssue,
  type FacilitatorErrorCode,
  type GatewayErrorCode,
  type LedgerErrorCode,
  type RateErrorCode,
  type RelayerErrorCode,
} from './shared/errors.js'
export type {
  GatewayEvents,
  GatewayListener,
  PaymentEvent,
  RecordedPaymentEvent,
  RefundEvent,
  UnsettledEvent,
} from './core/schemes/events.js'
export type { Facilitator, NetworkFacilitator } from './core/facilitator/facilitator.js'
export type { PaymentHook, PaymentHooks, ProposedPayment } from './core/schemes/payment-hooks.js'
export type { MerchantTerms, PurchaseTerms } from './core/schemes/scheme.js'
export {
  httpFacilitator,
  type HttpFacilitatorOptions,
} from './core/facilitator/http/http-facilitator.js'
export type {
  FacilitatorHeaders,
  FacilitatorRequest,
} from './core/facilitator/http/request-headers.js'
export { createGateway, type CloseOptions, type Gateway } from './gateway/gateway.js'
export { defaultGateway } from './gateway/default-gateway.js'
export { fromEnvironment } from './gateway/config/read/from-environment.js'
export type { GatewayRouterOptions } from './api/gateway-router.js'
export type { Finding, FindingCode, FindingSubject } from './operate/health/finding.js'
export type { Ledger } from './ledger/index.js'
export type { ProjectEvent } from './ledger/webhooks.js'
export type { PaymentDetails } from './ledger/payment-details.js'
export type { RedeemWithoutProof } from './ledger/purchase.js'
export type { AdminRole } from './core/merchants/access.js'
export { memoryLedger, type MemoryLedgerOptions } from './ledger/memory-ledger.js'
export type { FieldsFirstLogger, Logger } from './shared/logger.js'
export type { Decimal } from './shared/money/decimal.js'
export type { Price } from './shared/money/price.js'
export { cachedRates, type RateCacheOptions } from './shared/money/cached-rates.js'
export { crossRates } from './shared/money/cross-rates.js'
export { firstOf } from './shared/money/first-of.js'
export { httpRates, type HttpRate, type HttpRatesOptions } from './shared/money/http-rates.js'
export { fixedRates, type FixedRatesOptions } from './shared/money/fixed-rates.js'
export type { AppliedRate, Rate, RateSource } from './shared/money/rates.js'
export type {
  AssetOptions,
  KnownAssetOptions,
  NetworkOptions,
} from './gateway/config/options/network.js'
export type {
  DeclaredWebhook,
  GatewayOptions,
  MetricsOptions,
  ReceiptOptions,
  RateLimitOptions,
  RatesOptions,
  WebhookOptions,
} from './gateway/config/options.js'
export type { AdminOptions, AdminPerson } from './gateway/config/options/admin.js'
export type { MerchantOptions, ProjectOptions } from './gateway/config/options/merchant.js'
export type { RouteExamples, RouteInput, RouteSchema } from './core/catalogue/declaration.js'
export type { OpenApiDocument } from './sell/discovery/openapi.js'
export {
  paidRequest,
  type InputOf,
  type PaidRequest,
  type SignedInRequest,
  type X402Locals,
} from './sell/flow/paid-request.js'
export type {
  MerchantFunction,
  PriceFunction,
  ProtectOptions,
  RequestFunction,
} from './sell/route/options.js'
export type { PaywallNetwork, PaywallOptions, PaywallTextKey } from './sell/paywall/options.js'
export type {
  PaidTool,
  PaidToolOptions,
  ToolArguments,
  ToolExtra,
  ToolHandler,
  ToolPayment,
  ToolPrice,
  ToolResult,
  ToolSchema,
  ToolServer,
} from './sell/mcp/tool-options.js'
export type { DeclaredPrice, UpToPrice } from './sell/route/up-to-price.js'
export type { SignedIn } from './sell/sign-in/signed-in.js'
export type { X402Middleware, X402Protect } from './sell/flow/x402-protect.js'
export type { NetworkNameStyle } from './shared/protocol/networks.js'
export type {
  Address,
  Hex,
  PaymentFlow,
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  ResourceInfo,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from './shared/protocol/payment.js'
export { reasons, type Reason } from './shared/protocol/reasons.js'
export type {
  UcpCompletionOptions,
  UcpCompletion,
  UcpMessage,
  UcpPayment,
} from './api/checkouts/ucp/completion.js'
export {
  ucpProfile,
  type UcpHandler,
  type UcpProfile,
} from './api/checkouts/ucp/business-profile.js'
export type {
  UcpProfileOptions,
  UcpPublicKey,
  UcpRegistry,
} from './api/checkouts/ucp/profile-options.js'
