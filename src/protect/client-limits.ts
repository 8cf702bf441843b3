import type { Logger } from '../logger.js'
import { findAcceptedAsset, type Merchant } from '../merchants/project.js'
import { isDefaultAsset } from '../money/assets.js'
import { powerOfTen } from '../money/decimal.js'
import type { PaymentRequirements } from '../protocol/payment.js'

/** Dollars that official clients pay at once by default. */
const CLIENT_LIMIT_DOLLARS = 1n

/**
 * Makes a check that warns, once per route, of prices that official clients do not pay by default:
 * they pay well-known stablecoins only, and at most $1.00 at once.
 */
export function clientLimitWarning(
  merchant: Merchant,
  logger: Logger,
): (accepts: readonly PaymentRequirements[]) => void {
  let warned = false
  return (accepts) => {
    if (warned || accepts.some((entry) => isWithinClientLimits(entry, merchant))) return
    warned = true
    logger.warn(
      'Official x402 clients will not pay this route with their default spend controls: ' +
        'they pay the well-known stablecoin of each network only, and at most $1.00 at once.',
      { merchant: merchant.project },
    )
  }
}

function isWithinClientLimits(entry: PaymentRequirements, merchant: Merchant): boolean {
  const asset = findAcceptedAsset(merchant, entry)
  if (asset === undefined || !isDefaultAsset(asset)) return false
  return BigInt(entry.amount) <= CLIENT_LIMIT_DOLLARS * powerOfTen(asset.decimals)
}
