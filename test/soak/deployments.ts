import { setTimeout as sleep } from 'node:timers/promises'
import type { EndSignal, GatewayProcess } from '../faults/gateway-process.js'
import type { World } from '../faults/world.js'
import type { Random } from './random.js'

/** How gateways end: two of four are killed, two are stopped as the documentation says. */
const ENDS: readonly EndSignal[] = ['SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGINT']

/** Milliseconds that a gateway's requests have when it is stopped; for some it is too short. */
const CLOSE_MS = [undefined, 300] as const

/** The gateways of a soak, of which one ends now and then and another takes its place. */
export class Deployments {
  readonly #world: World
  readonly #random: Random
  readonly #running: GatewayProcess[]
  #replacing: Promise<void> = Promise.resolve()
  /** How many ended how. */
  readonly ends: Record<EndSignal, number> = { SIGKILL: 0, SIGTERM: 0, SIGINT: 0 }
  /** What must not be. */
  readonly violations: string[] = []

  private constructor(world: World, random: Random, running: GatewayProcess[]) {
    this.#world = world
    this.#random = random
    this.#running = running
  }

  /** Starts two gateways. */
  static async open(world: World, random: Random): Promise<Deployments> {
    const start = () => world.start({ closeMs: random.pick(CLOSE_MS) })
    return new Deployments(world, random, await Promise.all([start(), start()]))
  }

  any(): GatewayProcess {
    return this.#random.pick(this.#running)
  }

  /** Ends one, and starts another; one at a time. */
  replaceOne(): Promise<void> {
    this.#replacing = this.#replacing.then(() => this.#replace())
    return this.#replacing
  }

  /** Waits until nothing of the kind is under way. */
  ready(): Promise<void> {
    return this.#replacing
  }

  async #replace(): Promise<void> {
    const index = this.#random.pick([0, 1])
    const signal = this.#random.pick(ENDS)
    this.ends[signal] += 1
    const old = this.#running[index]!
    const ended = signal === 'SIGKILL' ? old.kill() : old.terminate(signal)
    const [next] = await Promise.all([
      this.#world.start({ closeMs: this.#random.pick(CLOSE_MS) }),
      // Some deployments start the next one at once, and some later.
      sleep(this.#random.next() * 1000),
    ])
    this.#running[index] = next
    const code = await ended
    if (signal !== 'SIGKILL' && code !== 0)
      this.violations.push(`a gateway that was stopped by ${signal} ended with ${String(code)}`)
    if (old.log().includes('UnhandledPromiseRejection'))
      this.violations.push(`a gateway has forgotten a rejection: ${old.log().slice(-2000)}`)
  }
}
