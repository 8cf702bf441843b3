import type { WebhookStore } from '../../ledger/index.js'
import type { Network } from '../../shared/protocol/networks.js'
import { world } from '../../shared/world.js'

/** How often the ledger is asked about a relayer that stays low (ms). */
const REMINDER_MS = 60_000

/** Digits of a balance: as many as 2^256 has, so that texts are ordered as numbers are. */
const DIGITS = 78

export interface ReadFunds {
  readonly relayer: string
  /** In wei. */
  readonly balance: bigint
  /** How many settlements it pays for. */
  readonly settlements: bigint
  readonly isLow: boolean
  /** High enough that no process counts it as low any more. */
  readonly isAmple: boolean
}

/** The last state written to the ledger, and when, by `world.elapsed()`. */
interface Noted {
  readonly isLow: boolean
  readonly at: number
  /** Resolves when it is written. Never rejects. */
  readonly done: Promise<unknown>
}

/**
 * Alerts the operator's webhooks to relayers that run out of gas money, and again each hour while they
 * stay low. Every process reads balances; the ledger lets only one of them send the alert.
 */
export class RelayerAlerts {
  readonly #store: WebhookStore['alerts']
  readonly #noted = new Map<string, Noted>()

  constructor(store: WebhookStore['alerts']) {
    this.#store = store
  }

  /** Notes a reading. Most readings do not reach the ledger. */
  noteFunds({ caip2, chainId }: Pick<Network, 'caip2' | 'chainId'>, read: ReadFunds): void {
    const { relayer, balance, settlements, isLow, isAmple } = read
    if (!isLow && !isAmple) return
    const name = `${caip2} ${relayer}`
    const known = this.#noted.get(name)
    const at = world.elapsed()
    if (known?.isLow === isLow && (!isLow || at - known.at < REMINDER_MS)) return
    const alert = {
      type: 'relayer.low',
      about: `${chainId} ${relayer.toLowerCase()}`,
      level: balance.toString().padStart(DIGITS, '0'),
    } as const
    const data = {
      network: caip2,
      address: relayer,
      balance: balance.toString(),
      settlements: Number(settlements),
    }
    const note = async (): Promise<void> => {
      // In order, however slow the ledger is.
      await known?.done
      await (isLow ? this.#store.tell(alert, data) : this.#store.end(alert))
    }
    // If the ledger does not answer, the next reading tries again.
    this.#noted.set(name, { isLow, at, done: note().catch(() => this.#noted.delete(name)) })
  }
}
