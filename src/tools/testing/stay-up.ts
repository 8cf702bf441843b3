import type { Server } from 'node:http'

/** How long an open shop keeps its process up without a request (ms): what is pending is settled by then. */
const IDLE_MS = 10_000

/** Keeps this process up while a shop is used. A shop that was left open does not keep it up for ever. */
export class StayUp {
  readonly #idle = setTimeout(() => undefined, IDLE_MS)

  constructor() {
    process.once('beforeExit', this.#warn)
  }

  renew(): void {
    this.#idle.refresh()
  }

  end(): void {
    clearTimeout(this.#idle)
    process.off('beforeExit', this.#warn)
  }

  readonly #warn = (): void =>
    process.emitWarning('A test shop was left open. Call `await shop.close()` after the tests.')
}

/** Lets this process end although a server listens, and clients keep connections to it. */
export function letEnd(server: Server): void {
  server.unref()
  server.on('connection', (socket) => void socket.unref())
}
