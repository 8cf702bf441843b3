/** Closes everything that a shop has opened. */
export class Cleanup {
  readonly #toDo: (() => unknown)[] = []
  #done: Promise<void> | undefined

  add(end: () => unknown): void {
    this.#toDo.push(end)
  }

  /** Runs the steps once, the newest first. */
  run(): Promise<void> {
    this.#done ??= this.#run()
    return this.#done
  }

  async #run(): Promise<void> {
    for (const end of this.#toDo.toReversed()) await end()
  }
}
