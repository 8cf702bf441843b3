import { recordId } from '../../../ledger/index.js'
import type { PaymentKey } from '../../../protocol/payment-key.js'
import type { Address } from '../../../protocol/payment.js'

/** How long other payments of an account wait for the one that deploys it (ms): it is followed as long. */
const LONGEST_MS = 120_000

/** A payment that deploys its payer's account. */
interface Deployment {
  readonly id: string
  readonly ended: Promise<void>
  readonly end: () => void
}

/**
 * Accounts that one of their payments is deploying. The others wait for it: a second deployment would fail,
 * and the transfer with it.
 */
export class Deployments {
  readonly #running = new Map<Address, Deployment>()

  /**
   * Makes a payment the one that deploys its payer's account.
   *
   * @returns The end of another one that does so now, if there is one.
   */
  claim(key: PaymentKey): Promise<void> | undefined {
    const id = recordId(key)
    const running = this.#running.get(key.from)
    if (running !== undefined) return running.id === id ? undefined : running.ended
    let resolve: () => void
    const ended = new Promise<void>((done) => (resolve = done))
    const end = (): void => {
      clearTimeout(timer)
      this.#running.delete(key.from)
      resolve()
    }
    // Another process may find out what became of it.
    const timer = setTimeout(end, LONGEST_MS).unref()
    this.#running.set(key.from, { id, ended, end })
    return undefined
  }

  /** Ends what {@link claim} began. */
  end(key: PaymentKey): void {
    const running = this.#running.get(key.from)
    if (running?.id === recordId(key)) running.end()
  }
}
