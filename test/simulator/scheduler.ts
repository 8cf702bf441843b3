/** Simulated time: what is to happen, in its order, and for which process. */
import type { Chance } from './chance.js'

/** Somebody whose events end when it dies: a gateway. */
export interface Life {
  readonly name: string
  isDead: boolean
  /** How far its clock is ahead of the world's (ms). */
  clockAheadMs: number
}

/** Whose events always happen: the chain's, and those of buyers. */
export const NOBODY: Life = { name: 'nobody', isDead: false, clockAheadMs: 0 }

export interface Event {
  /** Milliseconds of simulated time. */
  readonly at: number
  readonly order: number
  readonly life: Life
  /** `undefined` once it is cancelled. */
  work: (() => void) | undefined
}

/** The process's own timers: the simulation replaces the global ones. */
const nextTurnOfNode = setImmediate

export class Scheduler {
  /** Milliseconds since the simulation began. */
  elapsed = 0
  /** Whose event runs now: what it starts belongs to it, too. */
  life = NOBODY
  happened = 0
  readonly #heap: Event[] = []
  #order = 0

  /** @param life - Whose event it is. @defaultValue that of the running event */
  after(ms: number, work: () => void, life: Life = this.life): Event {
    const at = this.elapsed + Math.max(0, ms)
    const event: Event = { at, order: this.#order++, life, work }
    this.#push(event)
    return event
  }

  /** Waits, as nobody or as the running process. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve))
  }

  /** Runs what belongs to a life, at once. */
  as<T>(life: Life, work: () => T): T {
    const before = this.life
    this.life = life
    try {
      return work()
    } finally {
      this.life = before
    }
  }

  /** Lets things happen until something is true, or until nothing is left to happen. */
  async runUntil(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const event = this.#pop()
      if (event === undefined) return
      const { work, life } = event
      if (work === undefined || life.isDead) continue
      this.elapsed = event.at
      this.life = life
      this.happened++
      work()
      await idle()
    }
    this.life = NOBODY
  }

  #push(event: Event): void {
    const heap = this.#heap
    let index = heap.push(event) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(event, heap[parent]!)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = event
  }

  #pop(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = last
    return first
  }
}

/** Resolves once all promises and ticks of this event are done: nothing else happens meanwhile. */
function idle(): Promise<void> {
  return new Promise((resolve) => nextTurnOfNode(resolve))
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}

/** A timer as Node has them, which a simulated clock runs. */
class Timer {
  event: Event | undefined

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }
}

/** Time and chance of `src`, and of the packages that it uses, as a simulation has them. */
export function outsideOf(scheduler: Scheduler, chance: Chance, startMs: number) {
  const setTimeout = (work: (...given: unknown[]) => void, ms = 1, ...given: unknown[]) => {
    const timer = new Timer()
    timer.event = scheduler.after(Math.max(1, ms), () => work(...given))
    return timer as unknown as NodeJS.Timeout
  }
  const clear = (timer: unknown): void => {
    if (timer instanceof Timer && timer.event !== undefined) timer.event.work = undefined
  }
  const setInterval = (work: (...given: unknown[]) => void, ms = 1, ...given: unknown[]) => {
    const timer = new Timer()
    const again = (): void => {
      timer.event = scheduler.after(Math.max(1, ms), again)
      work(...given)
    }
    timer.event = scheduler.after(Math.max(1, ms), again)
    return timer as unknown as NodeJS.Timeout
  }
  const setImmediate = (work: (...given: unknown[]) => void, ...given: unknown[]) => {
    const timer = new Timer()
    timer.event = scheduler.after(0, () => work(...given))
    return timer as unknown as NodeJS.Immediate
  }
  const sleep = <T>(ms = 1, value?: T, { signal }: { signal?: AbortSignal } = {}): Promise<T> =>
    new Promise((resolve, reject) => {
      const fail = (): void => {
        clear(timer)
        reject(signal?.reason as Error)
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', fail)
        resolve(value as T)
      }, ms)
      if (signal?.aborted === true) fail()
      else signal?.addEventListener('abort', fail, { once: true })
    })
  const now = (): number => Math.floor(startMs + scheduler.elapsed + scheduler.life.clockAheadMs)
  const elapsed = (): number => scheduler.elapsed
  const random = (): number => chance.fraction()
  const world = {
    now,
    elapsed,
    setTimeout,
    clearTimeout: clear,
    setInterval,
    clearInterval: clear,
    setImmediate,
    sleep,
    nextTurn: () => new Promise<void>((resolve) => void scheduler.after(0, resolve)),
    timeoutSignal(ms: number): AbortSignal {
      const ended = new AbortController()
      setTimeout(() => ended.abort(new DOMException('timed out', 'TimeoutError')), ms)
      return ended.signal
    },
    random,
    randomBytes: (count: number) => chance.bytes(count),
    randomUUID(): string {
      const hex = chance.bytes(16).toString('hex')
      return [8, 12, 16, 20, 32].map((end, i) => hex.slice([0, 8, 12, 16, 20][i], end)).join('-')
    },
  }
  /** Other packages ask the process. */
  const replaceGlobals = (): void => {
    Date.now = now
    performance.now = elapsed
    Math.random = random
    Object.assign(globalThis, { setTimeout, setInterval, setImmediate })
    Object.assign(globalThis, {
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
    })
  }
  return { world, replaceGlobals }
}
