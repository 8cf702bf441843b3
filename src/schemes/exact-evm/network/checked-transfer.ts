import type { Address } from '../../../protocol/payment.js'
import type { GasLimit } from './gas-limits.js'
import type { TransferSimulation } from './simulate.js'

/** A transfer that the chain would make now. */
export interface CheckedTransfer {
  readonly simulation: TransferSimulation
  /** Present for a payer with code, whose transfer was estimated; else the simulation measured it. */
  readonly limit?: GasLimit | undefined
  /** The relayer that it was estimated for, and that must send it: a payer's code may look at it. */
  readonly sender?: Address | undefined
}
