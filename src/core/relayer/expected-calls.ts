import { world } from '../../shared/world.js'

/** Counts payments that are being verified and reserved: each may soon bring a call to send. */
export class ExpectedCalls {
  #count = 0
  #end: (() => void) | undefined

  /** Counts a payment. @returns To be called once, when it is reserved or refused. */
  begin(): () => void {
    this.#count++
    return () => {
      this.#count--
      if (this.#count === 0 && this.#end !== undefined) world.setImmediate(this.#endIfNone)
    }
  }

  /** Waits until no payment is expected any more, at most `mostMs`. For one caller at a time. */
  async wait(mostMs: number): Promise<void> {
    if (this.#count === 0) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      timer = world.setTimeout(resolve, mostMs)
      this.#end = resolve
    })
    world.clearTimeout(timer)
    this.#end = undefined
  }

  /** Ends the wait now: enough calls have come. */
  endWait(): void {
    this.#end?.()
  }

  /** In the next turn of the event loop: what is settled at once after its reservation is there by then. */
  readonly #endIfNone = (): void => {
    if (this.#count === 0) this.endWait()
  }
}
