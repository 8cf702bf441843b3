import type { Logger } from '../logger.js'
import { findAcceptedAsset, type Merchant } from '../merchants/project.js'
import { isDefaultAsset } from '../money/assets.js'
import { powerOfTen } from '../money/decimal.js'
import type { PaymentRequirements } from '../protocol/payment.js'

/** Dollars that official clients pay at once by default. */
const CLIENT_LIMIT_DOLLARS = 1n

/**
 * Makes a check that warns, once for each merchant of a route, of prices that official clients do not pay
 * by default: they pay well-known stablecoins only, and at most $1.00 at once.
 *
 * @param warned - Projects that this route was warned of. It gets those that are warned of now.
 */
export function clientLimitWarning(
  merchant: Merchant,
  logger: Logger,
  warned = new Set<string>(),
): (accepts: readonly PaymentRequirements[]) => void {
  const { project } = merchant
  return (accepts) => {
    if (warned.has(project) || accepts.some((entry) => isWithinClientLimits(entry, merchant)))
      return
    warned.add(project)
    logger.warn(
      'Official x402 clients will not pay this route with their default spend controls: ' +
        'they pay the well-known stablecoin of each network only, and at most $1.00 at once.',
      { merchant: project },
    )
  }
}

function isWithinClientLimits(entry: PaymentRequirements, merchant: Merchant): boolean {
  const asset = findAcceptedAsset(merchant, entry)
  if (asset === undefined || !isDefaultAsset(asset)) return false
  return BigInt(entry.amount) <= CLIENT_LIMIT_DOLLARS * powerOfTen(asset.decimals)
}
