/** The longest pause between two looks (ms): a condition may cost a query, or a whole ledger that is opened. */
const LONGEST_PAUSE_MS = 30

/** Waits until something has become true; the test's own timeout bounds it. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let pauseMs = 2; !(await condition()); pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS))
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
}
