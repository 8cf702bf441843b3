import type { CliContext } from './command.js'

const INTERVAL_MS = 200

const BAR_LENGTH = 30

/** Shows on a terminal how many payments are done, with a bar if their total is known. */
export class Progress {
  readonly #write: CliContext['showProgress']
  readonly #total: number | undefined
  #count = 0
  /** By `performance.now()`. */
  #shownAt = -Infinity

  constructor({ showProgress }: Pick<CliContext, 'showProgress'>, total?: number) {
    this.#write = showProgress
    this.#total = total
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
    const total = this.#total
    if (total === undefined) return this.#write?.(`${this.#count}`)
    const filled = Math.round(Math.min(1, this.#count / Math.max(1, total)) * BAR_LENGTH)
    const bar = '█'.repeat(filled).padEnd(BAR_LENGTH, '░')
    this.#write?.(`${bar} ${this.#count} of ${total}`)
  }
}
