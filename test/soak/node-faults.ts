import { type Fault, isSend } from '../support/rpc-proxy.js'
import type { World } from '../faults/world.js'
import type { Random } from './random.js'

/** Of what the node is asked, so much meets a fault. */
const FAULT_PROBABILITY = 0.04
/** And so much begins a time in which the node is away. */
const ABSENCE_PROBABILITY = 0.0005
const ABSENCE_MS = 800

const FAULTS: readonly Fault[] = [
  { kind: 'drop_answer' },
  { kind: 'drop_request' },
  { kind: 'delay', ms: 300 },
  { kind: 'garble' },
  { kind: 'duplicate' },
  { kind: 'http', status: 429 },
  { kind: 'http', status: 503 },
  { kind: 'refuse', code: -32603, message: 'internal error' },
]

/** Milliseconds for which the node takes no transactions, at most. */
const LONGEST_REFUSAL_MS = 20_000

/** How nodes say that they take no transaction now. */
const REFUSALS: readonly Fault[] = [
  { kind: 'refuse', code: -32005, message: 'rate limit exceeded' },
  { kind: 'refuse', code: -32000, message: 'txpool is full' },
  { kind: 'http', status: 429 },
  {
    kind: 'refuse',
    code: -32000,
    message: 'in-flight transaction limit reached for delegated accounts',
  },
]

/** Blocks that a reorganisation drops at most. */
const LONGEST_REORG = 3

/** What goes wrong with the node of a soak. */
export class NodeFaults {
  readonly #random: Random
  readonly #seen: string[] = []
  #isAwayUntil = 0
  #refusal: Fault | undefined
  #refusesUntil = 0
  /** Transactions that each reorganisation dropped. */
  readonly reorganisations: number[] = []
  /** Milliseconds for which transactions were refused, each time. */
  readonly refusals: number[] = []

  constructor(random: Random) {
    this.#random = random
  }

  /** What happened, in its order. */
  get seen(): readonly string[] {
    return this.#seen
  }

  /** Decides what becomes of a request to the node. */
  readonly decide = (method: string): Fault | undefined => {
    const random = this.#random
    const now = performance.now()
    if (now < this.#isAwayUntil) return this.#meet('away', { kind: 'drop_request' })
    if (now < this.#refusesUntil && isSend(method)) return this.#meet('not now', this.#refusal)
    if (random.chance(ABSENCE_PROBABILITY)) this.#isAwayUntil = now + ABSENCE_MS
    if (!random.chance(FAULT_PROBABILITY)) return undefined
    const fault = random.pick(FAULTS)
    return this.#meet(fault.kind === 'http' ? `http ${fault.status}` : fault.kind, fault)
  }

  /** From now on the node takes no transactions, for some seconds. */
  refuseSends(): void {
    const ms = Math.round(this.#random.next() * LONGEST_REFUSAL_MS)
    this.#refusal = this.#random.pick(REFUSALS)
    this.#refusesUntil = Math.max(this.#refusesUntil, performance.now() + ms)
    this.refusals.push(ms)
  }

  /** Drops the last blocks and all that is in them; no block is mined meanwhile. */
  async reorganise({ node }: World): Promise<void> {
    const depth = 1 + Math.floor(this.#random.next() * LONGEST_REORG)
    const head = Number(await node('eth_blockNumber'))
    let dropped = 0
    for (let block = head - depth + 1; block <= head; block++)
      dropped += Number(
        await node('eth_getBlockTransactionCountByNumber', `0x${block.toString(16)}`),
      )
    await node('anvil_reorg', depth, [])
    this.reorganisations.push(dropped)
  }

  #meet(name: string, fault: Fault | undefined): Fault | undefined {
    this.#seen.push(name)
    return fault
  }
}
