/** What is outside of the gateways, and shared by all of them: time, a chain with its nodes, a database. And the trace. */
import { createHash } from 'node:crypto'
import { world as worldOfSources } from '../../src/shared/world.js'
import { Chain } from './chain.js'
import { Chance } from './chance.js'
import { Faults } from './faults.js'
import { Database } from './ledger.js'
import { Node } from './node.js'
import { NOBODY, outsideOf, Scheduler } from './scheduler.js'
import { accountOf, type Account } from './signing.js'
import { connect } from './wire.js'

const START_MS = 1_800_000_000_000
export const BLOCK_MS = 2000
const BUYERS = 100
/** Buyers whose accounts are contracts. */
const WALLETS = 12
const RELAYERS = 2

export interface World {
  readonly scheduler: Scheduler
  readonly faults: Faults
  readonly chain: Chain
  readonly nodes: ReadonlyMap<string, Node>
  /** Names of nodes that do not answer. */
  readonly away: Set<string>
  readonly database: Database
  readonly relayers: readonly Account[]
  /** Who buys. */
  readonly accounts: readonly Account[]
  /** Who is paid. */
  readonly merchant: Account
  readonly trace: Trace
  /** Unix time (s), as the chain has it. */
  readonly seconds: () => number
}

/** Makes the world of a seed, and lets the sources of the gateway live in it. */
export function createWorld(seed: string, onLine?: (line: string) => void): World {
  const scheduler = new Scheduler()
  const { world, replaceGlobals } = outsideOf(scheduler, new Chance(`${seed}/chance`), START_MS)
  Object.assign(worldOfSources, world)
  replaceGlobals()
  const now = (): number => Math.floor(START_MS + scheduler.elapsed)
  const seconds = (): number => Math.floor(now() / 1000)
  const faults = new Faults(new Chance(`${seed}/faults`))
  const relayers = accountsFrom(0xfeeen, RELAYERS)
  const accounts = [
    ...accountsFrom(0xacc0_0000n, BUYERS),
    ...accountsFrom(0xc0de_0000n, WALLETS, { hasCode: true }),
  ]
  const wallets = new Set(
    accounts.filter((one) => one.hasCode).map((one) => one.address.toLowerCase()),
  )
  const chain = new Chain()
  const nodes = new Map(
    ['node-a', 'node-b'].map((name) => [name, new Node(chain, wallets, seconds)]),
  )
  const away = new Set<string>()
  connect({ scheduler, faults, nodes, away })
  for (const { address } of accounts) chain.endow(address.toLowerCase(), { token: 10n ** 15n })
  for (const { address } of relayers) chain.endow(address.toLowerCase(), { ether: 10n ** 24n })
  const made: World = {
    scheduler,
    faults,
    chain,
    nodes,
    away,
    database: new Database(scheduler, faults, now),
    relayers,
    accounts,
    merchant: accountOf(0x5e11e7n),
    trace: new Trace(scheduler, onLine),
    seconds,
  }
  startMining(made)
  return made
}

/** What happens, a line each: with the time, and the payment that it is about. */
export class Trace {
  readonly #hash = createHash('sha256')
  readonly #scheduler: Scheduler
  readonly #onLine: ((line: string) => void) | undefined

  constructor(scheduler: Scheduler, onLine?: (line: string) => void) {
    this.#scheduler = scheduler
    this.#onLine = onLine
  }

  /** @param purchase - Its number, if it is about one. */
  tell(words: string, purchase?: number): void {
    const about = purchase === undefined ? '' : `#${purchase} `
    const line = `${this.#scheduler.elapsed.toFixed(0)} ${about}${words}\n`
    this.#hash.update(line)
    this.#onLine?.(line)
  }

  /** SHA-256 of all lines. */
  digest(): string {
    return this.#hash.digest('hex')
  }
}

function accountsFrom(
  first: bigint,
  count: number,
  kind?: { readonly hasCode: boolean },
): readonly Account[] {
  return Array.from({ length: count }, (_, index) => accountOf(first + BigInt(index), kind))
}

function startMining({ scheduler, chain, seconds }: World): void {
  const mine = (): void => {
    scheduler.after(BLOCK_MS, mine, NOBODY)
    if (scheduler.elapsed >= chain.stalledUntil) chain.mine(seconds())
  }
  scheduler.after(BLOCK_MS, mine, NOBODY)
}
