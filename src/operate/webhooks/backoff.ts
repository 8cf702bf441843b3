/** How long a delivery is tried: three days. */
export const LIFETIME_MS = 72 * 3_600_000

/** Delay before the second attempt (ms); it doubles with each further one. */
const FIRST_DELAY_MS = 5000
const LONGEST_DELAY_MS = 8 * 3_600_000

/** Largest random change of a delay, as a fraction: retries must not reach a receiver all at once. */
const JITTER = 0.2

/** Failed attempts so far, and the age of the delivery. */
export interface FailedAttempts {
  readonly attempts: number
  readonly ageMs: number
  /** How long the receiver wants to be left alone (ms). */
  readonly restMs?: number | undefined
  /** The longest delay, unless the receiver wants more (ms). @defaultValue eight hours */
  readonly longestMs?: number | undefined
}

/**
 * Time until the next attempt (ms). The last attempt is made after {@link LIFETIME_MS}.
 *
 * @param random - At least 0 and less than 1.
 * @returns `undefined` after the last attempt.
 */
export function nextAttemptInMs(
  { attempts, ageMs, restMs = 0, longestMs = LONGEST_DELAY_MS }: FailedAttempts,
  random: () => number,
): number | undefined {
  const leftMs = LIFETIME_MS - ageMs
  if (leftMs <= 0) return undefined
  const usualMs = Math.min(FIRST_DELAY_MS * 2 ** (attempts - 1), longestMs)
  return Math.min(Math.max(usualMs * (1 - JITTER + 2 * JITTER * random()), restMs), leftMs)
}
