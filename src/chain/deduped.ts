/** Deduplicates calls: runs a piece of work once for all callers that ask while it runs. Keeps no results. */
export class Deduped<Result> {
  readonly #work: () => Promise<Result>
  /** The run under way. */
  #running: Promise<Result> | undefined

  constructor(work: () => Promise<Result>) {
    this.#work = work
  }

  /** Whether a run is under way. */
  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Joins the run under way, or starts one. */
  run(): Promise<Result> {
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }
}
