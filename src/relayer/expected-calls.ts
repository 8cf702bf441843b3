/** Work that may bring a call to send, such as the verification of a payment. */
export class ExpectedCalls {
  #count = 0
  /** Ends the wait; absent while nobody waits. */
  #end: (() => void) | undefined

  /** Counts work until it has ended, whatever comes of it. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#count++
    try {
      return await work
    } finally {
      this.#count--
      if (this.#count === 0 && this.#end !== undefined) setImmediate(this.#endIfNone)
    }
  }

  /** Waits until no call is expected any more, or for so many milliseconds. One caller at a time. */
  async wait(mostMs: number): Promise<void> {
    if (this.#count === 0) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, mostMs)
      this.#end = resolve
    })
    clearTimeout(timer)
    this.#end = undefined
  }

  /** Ends the wait now: enough calls have come. */
  endWait(): void {
    this.#end?.()
  }

  /** In the next turn of the event loop: what a payment does after its verification is begun by then. */
  readonly #endIfNone = (): void => {
    if (this.#count === 0) this.endWait()
  }
}
