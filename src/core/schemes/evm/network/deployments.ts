import { LRUCache } from 'lru-cache'
import { recordId } from '../../../../ledger/index.js'
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import type { Address } from '../../../../shared/protocol/payment.js'
import { world } from '../../../../shared/world.js'

/** How long other payments of an account wait for the one that deploys it (ms): it is followed as long. */
const LONGEST_MS = 120_000

/** Accounts whose last deployment's end is remembered. */
const REMEMBERED = 1000

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
  /** When the last one ended, by `world.elapsed()`. */
  readonly #ends = new LRUCache<Address, number>({ max: REMEMBERED })

  /**
   * Makes a payment the one that deploys its payer's account.
   *
   * @param seenAt - When the account had no code, by `world.elapsed()`.
   * @returns The end of another one, if there has been one since: the account may have code now.
   */
  claim(key: PaymentKey, seenAt: number): Promise<void> | undefined {
    const id = recordId(key)
    const running = this.#running.get(key.from)
    if (running !== undefined) return running.id === id ? undefined : running.ended
    if ((this.#ends.get(key.from) ?? 0) > seenAt) return Promise.resolve()
    let resolve: () => void
    const ended = new Promise<void>((done) => (resolve = done))
    const end = (): void => {
      world.clearTimeout(timer)
      this.#running.delete(key.from)
      this.#ends.set(key.from, world.elapsed())
      resolve()
    }
    // Another process may find out what became of it.
    const timer = world.setTimeout(end, LONGEST_MS).unref()
    this.#running.set(key.from, { id, ended, end })
    return undefined
  }

  end(key: PaymentKey): void {
    const running = this.#running.get(key.from)
    if (running?.id === recordId(key)) running.end()
  }
}
