import { ConfigError } from '../../shared/errors.js'
import { suggestName } from '../../shared/protocol/did-you-mean.js'
import type { Merchant } from './project.js'

const NOBODY_PAID = 'no project has a merchant: nobody could be paid'

/**
 * Finds who is paid.
 *
 * @param wanted - Id of a project. @defaultValue the only one with a merchant
 * @throws `ConfigError` for an unknown project, and if there is not exactly one to choose from.
 */
export function chooseMerchant(
  merchants: ReadonlyMap<string, Merchant>,
  wanted: string | undefined,
): Merchant {
  const ids = [...merchants.keys()].join(', ')
  if (wanted !== undefined) {
    const merchant = merchants.get(wanted)
    if (merchant !== undefined) return merchant
    const message = `no project '${wanted}' has a merchant; ${suggestName(wanted, [...merchants.keys()])}`
    throw new ConfigError('merchant', message, 'unknown_project')
  }
  const [only, ...others] = merchants.values()
  if (only === undefined) throw new ConfigError('projects', NOBODY_PAID, 'missing_option')
  if (others.length === 0) return only
  throw new ConfigError('merchant', `name the project that is paid: ${ids}`, 'missing_option')
}
