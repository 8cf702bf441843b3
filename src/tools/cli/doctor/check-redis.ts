import { sourceOf } from '../../../gateway/config/read/name-variables.js'
import type { Environment } from '../../../gateway/config/read/variables.js'
import { RedisCounts } from '../../../gateway/config/resolve/redis-counts.js'
import type { ResolvedOptions } from '../../../gateway/config/resolve/resolve-options.js'
import { fault, sound, type DoctorFinding } from './doctor-finding.js'

/** Checks that Redis counts the requests that are limited. */
export async function checkRedis(
  { rateLimit, paymentRateLimit }: Pick<ResolvedOptions, 'rateLimit' | 'paymentRateLimit'>,
  env: Environment,
): Promise<readonly DoctorFinding[]> {
  const limits = [
    [sourceOf('rateLimit.redisUrl', env), rateLimit],
    ['paymentRateLimit.redisUrl', paymentRateLimit],
  ] as const
  const found = await Promise.all(
    limits.map(async ([option, limit]) => {
      const counts = limit && limit.store
      return counts instanceof RedisCounts ? [await checkCounts(option, counts)] : []
    }),
  )
  return found.flat()
}

async function checkCounts(option: string, counts: RedisCounts): Promise<DoctorFinding> {
  const kind = await counts.probe()
  if (kind === undefined) return sound('redis', `The Redis of ${option} counts requests.`)
  const message = `The Redis of ${option} does not count (${kind}), so requests are not limited: start it, or correct ${option}.`
  return fault('redis', 'redis_unreachable', message)
}
