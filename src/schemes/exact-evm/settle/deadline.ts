/** A time after which nothing is waited for any longer. */
export interface Deadline {
  /** Resolves when it has passed. */
  readonly late: Promise<'late'>
  /** Stops the clock. */
  end(): void
}

/** Starts the clock. */
export function startDeadline(ms: number): Deadline {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, ms, 'late')
  })
  return { late, end: () => clearTimeout(timer) }
}
