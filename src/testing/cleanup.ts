/** What a shop has opened. */
export class Cleanup {
  readonly #toDo: (() => unknown)[] = []
  #done: Promise<void> | undefined

  /** Adds what is to be done at the end. */
  add(end: () => unknown): void {
    this.#toDo.push(end)
  }

  /** Closes everything, the newest first; only the first call does. */
  run(): Promise<void> {
    this.#done ??= this.#run()
    return this.#done
  }

  async #run(): Promise<void> {
    for (const end of this.#toDo.toReversed()) await end()
  }
}
