/** Runs a piece of work once for all callers that ask while it runs. Keeps no results. */
export function deduped<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined
  return () =>
    (running ??= work().finally(() => {
      running = undefined
    }))
}
