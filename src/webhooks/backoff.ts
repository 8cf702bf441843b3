/** Milliseconds for which a delivery is tried: three days. */
export const LIFETIME_MS = 72 * 3_600_000

/** Milliseconds before the second attempt. They double with each further one. */
const FIRST_DELAY_MS = 5000
const LONGEST_DELAY_MS = 8 * 3_600_000

/** Largest random change of a delay, as a share of it: retries must not reach a receiver all at once. */
const JITTER = 0.2

/** The attempts that have failed, and for how long it has been tried. */
export interface FailedAttempts {
  readonly attempts: number
  readonly ageMs: number
}

/**
 * Milliseconds until the next attempt, the last of which is made after {@link LIFETIME_MS}.
 *
 * @param random - At least 0 and less than 1.
 * @returns `undefined` if there is no next attempt.
 */
export function nextAttemptInMs(
  { attempts, ageMs }: FailedAttempts,
  random: () => number,
): number | undefined {
  const leftMs = LIFETIME_MS - ageMs
  if (leftMs <= 0) return undefined
  const usualMs = Math.min(FIRST_DELAY_MS * 2 ** (attempts - 1), LONGEST_DELAY_MS)
  return Math.min(usualMs * (1 - JITTER + 2 * JITTER * random()), leftMs)
}
