/**
 * Payments by programs for Express: x402 v2 middleware, and a payment gateway on the same core.
 *
 * @packageDocumentation
 */
import type { Router } from 'express'
import { defaultGateway } from './default-gateway.js'
import type { X402Protect } from './protect/x402-protect.js'

/**
 * Declares that a route costs money, on the default gateway.
 *
 * The default gateway is built from `X402_*` environment variables when the first route is declared.
 *
 * @throws {@link ConfigError} naming every variable that is missing or wrong.
 */
export const x402Protect: X402Protect = (price, options) =>
  defaultGateway().x402Protect(price, options)

/**
 * The payment gateway API of the default gateway.
 *
 * @throws {@link ConfigError} naming every variable that is missing or wrong.
 */
export const gatewayRouter = (): Router => defaultGateway().gatewayRouter()

export {
  ChainError,
  ConfigError,
  FacilitatorError,
  GatewayError,
  LedgerError,
  RateError,
  RelayerError,
  type ChainErrorCode,
  type ConfigErrorCode,
  type ConfigIssue,
  type FacilitatorErrorCode,
  type GatewayErrorCode,
  type LedgerErrorCode,
  type RateErrorCode,
  type RelayerErrorCode,
} from './errors.js'
export { chainlinkRates, type ChainlinkRatesOptions } from './chain/chainlink-rates.js'
export type { GatewayEvents, GatewayListener, PaymentEvent } from './schemes/events.js'
export type { Facilitator } from './facilitator/facilitator.js'
export type { MerchantTerms } from './schemes/scheme.js'
export { httpFacilitator, type HttpFacilitatorOptions } from './facilitator/http-facilitator.js'
export { createGateway, type Gateway } from './gateway.js'
export type {
  IdempotencyAttempt,
  IdempotencyClaim,
  IdempotencyStore,
  RepeatableRequest,
} from './idempotency/store.js'
export type {
  AuthorizationKey,
  Ledger,
  LedgerEntry,
  LedgerQuery,
  LedgerRecord,
  LedgerStatus,
  Submission,
} from './ledger/ledger.js'
export { memoryLedger, type MemoryLedgerOptions } from './ledger/memory-ledger.js'
export type { Logger } from './logger.js'
export type { Decimal } from './money/decimal.js'
export type { Price } from './money/price.js'
export { cachedRates, type RateCacheOptions } from './money/cached-rates.js'
export { crossRates } from './money/cross-rates.js'
export { firstOf } from './money/first-of.js'
export { httpRates, type HttpRate, type HttpRatesOptions } from './money/http-rates.js'
export { fixedRates, type FixedRatesOptions } from './money/fixed-rates.js'
export type { AppliedRate, Rate, RateSource } from './money/rates.js'
export type { AssetOptions, KnownAssetOptions, NetworkOptions } from './config/network-options.js'
export type {
  GatewayOptions,
  MerchantOptions,
  ProjectOptions,
  RateLimitOptions,
  RatesOptions,
} from './config/options.js'
export type { PaidRequest } from './protect/paid-request.js'
export type { PriceFunction, ProtectOptions } from './protect/route.js'
export type { X402Protect } from './protect/x402-protect.js'
export type { NetworkNameStyle } from './protocol/networks.js'
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
} from './protocol/payment.js'
export { reasons, type Reason } from './protocol/reasons.js'
export {
  ucpProfile,
  type UcpHandler,
  type UcpProfile,
  type UcpProfileOptions,
  type UcpRegistry,
} from './ucp/business-profile.js'
