/** Transactions of the relayer, and their outcomes. */
import type { Call, FeeValues, RejectionCause } from '../chain/types.js'
import type { PaymentKey, KeyedSubmission, Submission } from '../../ledger/index.js'
import type { Address } from '../../shared/protocol/payment.js'
import type { GasShare } from './batch-gas.js'

export interface TransactionRequest {
  readonly call: Call
  readonly gas: bigint
  /** The only relayers that may send it. @defaultValue all */
  readonly senders?: readonly Address[] | undefined
  /**
   * What the ledger writes down of each payment, in one change with the transaction. Called again
   * with another transaction when one was rejected. Throws when the call must not be sent any more.
   *
   * @param stored - Resolves once it is in the ledger.
   */
  readonly members: (submission: Submission, stored: Promise<void>) => readonly KeyedSubmission[]
  /** Called when the transaction is in the ledger, before it is sent. Nothing is sent if it throws. */
  readonly onStored?: ((submission: Submission) => Promise<void>) | undefined
}

export type Sign = (
  request: Pick<TransactionRequest, 'call' | 'gas'>,
  accountNonce: number,
  fees: FeeValues,
) => Promise<Submission>

export type SendResult = SentTransaction | RejectedTransaction

/** A node was given the transaction; `unknown` when its answer was lost. */
export interface SentTransaction {
  readonly kind: 'accepted' | 'unknown'
  readonly submission: Submission
}

/** A node rejected the transaction. That is no proof: another may have it, or get it later. */
export interface RejectedTransaction {
  readonly kind: 'rejected'
  readonly cause: RejectionCause
  readonly submission: Submission
}

/** Thrown when some payments of a transaction may not be sent; nothing was recorded then. */
export class LostLocks extends Error {
  /** The reason for each of them. */
  readonly lost: ReadonlyMap<PaymentKey, unknown>

  constructor(lost: ReadonlyMap<PaymentKey, unknown>) {
    super('Some payments of a batch may not be sent.')
    this.lost = lost
  }
}

export interface ViaExecutor {
  readonly address: Address
  /** Most gas of the call itself, apart from what any transaction and its bytes take. */
  readonly callGas: bigint
}

export interface BatchMember
  extends Pick<TransactionRequest, 'call' | 'gas'>, Pick<KeyedSubmission, 'charged'> {
  readonly key: PaymentKey
  /** The only relayer that may send it; it then has a transaction of its own. @defaultValue any */
  readonly sender?: Address | undefined
  /** The executor that must make the call; `sender` is not used then. @defaultValue none */
  readonly via?: ViaExecutor | undefined
  /** Whether it needs a transaction of its own. @defaultValue false */
  readonly isAlone?: boolean | undefined
  /** Its part of the gas of a shared transaction, where that was measured. */
  readonly gasShare?: GasShare | undefined
  /** Called right before the transaction is sent; throws when the call must not be sent any more. */
  readonly recheck?: (() => Promise<void>) | undefined
  /**
   * Makes what the ledger record says of a transaction. Throws when the call must not be sent any
   * more.
   */
  readonly toSubmission: (submission: Submission) => Submission
  /** Called when the first transaction is being recorded, or another in place of a rejected one. */
  readonly onWriteAhead: (submission: Submission, stored: Promise<void>) => void
}

/** A settlement that waits for a transaction, and its caller. */
export interface QueuedMember {
  readonly member: BatchMember
  readonly resolve: (sent: SentTransaction) => void
  readonly reject: (error: unknown) => void
}
