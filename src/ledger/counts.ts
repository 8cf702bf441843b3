/** Numbers of what happened, by day, kept beside the payments. */

/** Project of the counts of all projects together. No project has an empty id. */
export const ALL_COUNTED = ''

/** How often something happened on a day. */
export interface Count {
  /** Days since the epoch, in UTC. */
  readonly day: number
  /** Id of the project, or {@link ALL_COUNTED}. */
  readonly project: string
  /** What happened. */
  readonly kind: string
  /** Divides a kind further: a reason, or a range of milliseconds. */
  readonly label: string
  readonly count: number
}

/** Which counts are listed. */
export interface CountQuery {
  readonly project: string
  /** Inclusive. */
  readonly fromDay: number
  /** Inclusive. */
  readonly toDay: number
  readonly kinds: readonly string[]
}

/** Days that counts are kept. */
export const COUNTED_DAYS = 400
