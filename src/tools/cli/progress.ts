import type { CliContext } from './command.js'

const INTERVAL_MS = 200

export class Progress {
  readonly #write: CliContext['showProgress']
  #count = 0
  /** By `performance.now()`. */
  #shownAt = -Infinity

  constructor({ showProgress }: Pick<CliContext, 'showProgress'>) {
    this.#write = showProgress
  }

  /** @param count - Payments that are done by now. */
  show(count: number): void {
    this.#count = count
    if (performance.now() - this.#shownAt >= INTERVAL_MS) this.#draw()
  }

  /** Shows the last count, and clears the line. */
  end(): void {
    this.#draw()
    this.#write?.('')
  }

  #draw(): void {
    this.#shownAt = performance.now()
    this.#write?.(`${this.#count}`)
  }
}
