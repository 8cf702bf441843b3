import { LRUCache } from 'lru-cache'
import { ALL_COUNTED } from '../../ledger/counts.js'
import { GWEI, SPENT, type Counters } from '../../ledger/counters.js'
import type { LedgerStore } from '../../ledger/index.js'
import { DAY_MS } from '../../ledger/time-zone.js'
import { checkNetwork } from './check-network.js'
import type { OwnNetwork } from './check-gateway.js'
import { findings } from './finding.js'

/** How long answers of nodes are reused (ms). */
const KEPT_MS = 3000

/** Days that the average and the sum of gas spending cover. */
const RECENT_DAYS = 7
const SUMMED_DAYS = 30

export interface OperationsOptions {
  readonly cores: readonly OwnNetwork[]
  readonly ledger: Pick<LedgerStore, 'relayers' | 'counts'>
  readonly counters: Counters
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

interface AccountState {
  /** Wei. */
  readonly balance: string
  readonly isLow: boolean
  readonly runway: { readonly payments: number; readonly days?: number }
  readonly pending: readonly {
    readonly transaction: string
    readonly accountNonce: number
    readonly ageSeconds: number
    readonly replacements: number
  }[]
}

type Account = OwnNetwork['relayers']['accounts'][number]

/** Networks and relayers for the operator. Asks nodes at most once in 3 s. */
export class Operations {
  readonly #options: OperationsOptions
  readonly #kept: LRUCache<string, Promise<unknown>>

  constructor(options: OperationsOptions) {
    this.#options = options
    this.#kept = new LRUCache({ max: 2, ttl: KEPT_MS })
  }

  /** Health of each network that this gateway settles on, without URLs. */
  networks() {
    return this.#once('networks', async () => {
      const { cores, now } = this.#options
      const found = await Promise.all(
        cores.map(async ({ chain }) => {
          const { caip2, name, chainId } = chain.network
          const place = { subject: 'network', network: caip2 } as const
          const checked = await findings(place, () => checkNetwork(chain, now()))
          return checked.map(({ subject: _subject, ...finding }) => ({ name, chainId, ...finding }))
        }),
      )
      return found.flat()
    })
  }

  /** The relayers. One that cannot be read has `error`. */
  relayers() {
    return this.#once('relayers', async () => {
      const spent = await this.#spentGwei()
      const all = this.#options.cores.map((core) =>
        Promise.all(core.relayers.accounts.map((account) => this.#relayer(core, account, spent))),
      )
      return (await Promise.all(all)).flat()
    })
  }

  async #relayer({ chain }: OwnNetwork, account: Account, spent: SpentByDay) {
    const { caip2: network, chainId } = chain.network
    const { address, funds } = account
    const known = { network, address, spent: spent.total(chainId, address).toString() }
    let read: Partial<AccountState> = {}
    const [failure] = await findings({ subject: 'relayer' }, async () => {
      const { balance, settlements, isLow } = await funds.read()
      const pending = await this.#pending(chain, account)
      const perDay = spent.perDay(chainId, address)
      // In tenths of a day, rounded down.
      const days = perDay > 0n ? Number((balance * 10n) / perDay) / 10 : undefined
      const runway = { payments: Number(settlements), ...(days !== undefined && { days }) }
      read = { balance: balance.toString(), isLow, runway, pending }
      return []
    })
    return { ...known, ...(failure === undefined ? read : { error: failure.message }) }
  }

  async #pending(chain: OwnNetwork['chain'], { address }: Account) {
    const mined = await chain.getMinedNonce(address)
    const account = { chainId: chain.network.chainId, relayer: address }
    const waiting = await this.#options.ledger.relayers.listTransactions(account, mined)
    return waiting.map(({ transaction, accountNonce, ageMs, replaces = [] }) => ({
      transaction,
      accountNonce,
      ageSeconds: Math.round(ageMs / 1000),
      replacements: replaces.length,
    }))
  }

  async #spentGwei(): Promise<SpentByDay> {
    const { ledger, counters, now } = this.#options
    await counters.flush()
    const today = Math.floor(now() / DAY_MS)
    const fromDay = today - SUMMED_DAYS + 1
    const query = { project: ALL_COUNTED, fromDay, toDay: today, kinds: [SPENT] }
    return spentByDay(await ledger.counts.listCounts(query), today)
  }

  #once<T>(name: string, read: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(name)
    // Each name has one reader.
    if (kept !== undefined) return kept as Promise<T>
    const reading = read()
    this.#kept.set(name, reading)
    reading.catch(() => this.#kept.delete(name))
    return reading
  }
}

/** Gas spending of accounts, in wei. */
interface SpentByDay {
  total(chainId: number, address: string): bigint
  perDay(chainId: number, address: string): bigint
}

function spentByDay(
  counts: readonly { readonly day: number; readonly label: string; readonly count: number }[],
  today: number,
): SpentByDay {
  const of = (chainId: number, address: string) => {
    const label = `${chainId}:${address.toLowerCase()}`
    return counts.filter((one) => one.label === label)
  }
  const sum = (some: readonly { readonly count: number }[]): bigint =>
    some.reduce((total, { count }) => total + BigInt(count) * GWEI, 0n)
  return {
    total: (...account) => sum(of(...account)),
    perDay(...account) {
      const recent = of(...account).filter(({ day }) => day > today - RECENT_DAYS)
      if (recent.length === 0) return 0n
      const first = Math.min(...recent.map(({ day }) => day))
      return sum(recent) / BigInt(today - first + 1)
    },
  }
}
