/** What goes wrong outside: how often, and how often it has. All of it ends when the simulation says so. */
import type { Chance } from './chance.js'

/** One in so many. */
const RATES = {
  ledgerBefore: 400,
  ledgerAfter: 400,
  requestLost: 60,
  answerLost: 60,
  slow: 40,
  throttled: 100,
  unavailable: 100,
  garbled: 200,
  headerNotFound: 200,
  facilitatorGone: 20,
  facilitatorSilent: 6,
  facilitatorLies: 10,
} as const

export type Fault =
  | keyof typeof RATES
  | 'crash'
  | 'reorganisation'
  | 'lag'
  | 'forgot'
  | 'away'
  | 'stall'
  | 'surge'
  | 'clock'

export class Faults {
  readonly counts = new Map<Fault, number>()
  /** Whether anything goes wrong. */
  isOn = true
  readonly chance: Chance

  constructor(chance: Chance) {
    this.chance = chance
  }

  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0)
  }

  note(fault: Fault): void {
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1)
  }

  happens(fault: keyof typeof RATES): boolean {
    if (!this.isOn || !this.chance.onceIn(RATES[fault])) return false
    this.note(fault)
    return true
  }

  /** Whether the database loses a statement, or its answer. */
  ofLedger(): 'before' | 'after' | undefined {
    if (this.happens('ledgerBefore')) return 'before'
    return this.happens('ledgerAfter') ? 'after' : undefined
  }
}
