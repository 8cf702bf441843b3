/** The interface of the ways in which a payer's signature moves a token. */
import type { Chain } from '../../../chain/chain.js'
import type { Call, CallResult, Receipt } from '../../../chain/types.js'
import type { LedgerEntry, Submission } from '../../../../ledger/index.js'
import type { PaymentFacts } from '../../../../shared/protocol/decoded-payment.js'
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import type { Address, Hex, PaymentRequirements } from '../../../../shared/protocol/payment.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'
import type { RelayerPool } from '../../../relayer/pool.js'
import type { Outcome } from './decision.js'
import type { SettlementAsset } from './settlement-asset.js'

/** An ECDSA signature in the one form that every token takes: low `s`, `v` 27 or 28. */
export interface EcdsaSignature {
  readonly r: Hex
  readonly s: Hex
  readonly v: 27 | 28
}

/** A signature as contracts take it: split for accounts with a key, whole for contracts. */
export type TransferSignature = EcdsaSignature | Hex

export interface SignedTransfer {
  readonly facts: PaymentFacts
  readonly signature: TransferSignature
  /** Deploys the account of its payer; came with the signature (ERC-6492). */
  readonly deployment?: Call | undefined
  /** What is taken, where that is less than was signed. */
  readonly amount?: bigint | undefined
  readonly isRefund?: boolean | undefined
}

/** Reasons that each way has its own names for. */
export interface MethodReasons {
  readonly used: Reason
  readonly badSignature: Reason
  readonly tooEarly: Reason
  readonly tooLate: Reason
  readonly notCovered: Reason
  /** The allowance does not cover it. */
  readonly notAllowed: Reason
  readonly noToken: Reason
  /** The token exists, but what is called to move it does not. */
  readonly notDeployed: Reason
  readonly simulationFailed: Reason
}

/** What may have used up a nonce. */
export interface Uses {
  /** Transactions, the likeliest first. */
  readonly transactions: readonly Hex[]
  /** Whether these are all: where none of them has paid, the authorization was cancelled. */
  readonly isComplete: boolean
  /** Notes that one of them, as it was mined, buys nothing: the next search goes on behind it. */
  ruleOut?(receipt: Receipt, mayHavePaid: boolean): void
  /** Those that were ruled out, and may have paid. */
  mayHavePaid?(): readonly Hex[]
}

/**
 * A payment that is judged. Its transaction is known unless a stranger sent it; the time of its reservation, where it
 * was read from the ledger.
 */
export type JudgedPayment = LedgerEntry & {
  readonly submission?: Submission | undefined
  readonly createdAt?: number | undefined
}

/** What a transaction is judged by, beside itself. */
export interface JudgingNetwork {
  readonly chain: Chain
  readonly relayers: Pick<RelayerPool, 'addresses' | 'executor'>
  /** By lower-case address. */
  readonly assets: ReadonlyMap<Address, SettlementAsset>
}

/** One way in which a payer's signature moves a token, in the calls and logs of its contracts. */
export interface TransferMethod {
  /** `extra.assetTransferMethod` of its offers. */
  readonly name: 'eip3009' | 'permit2'
  readonly reasons: MethodReasons
  takes(asset: SettlementAsset): boolean
  /** The signature, as the client sent it, in lower case. */
  signatureOf(facts: PaymentFacts): Hex
  /** Identifies what a payment carries that its signature does not cover. */
  unsignedOf?(facts: PaymentFacts): string
  /** Why that lapses too early. @param until - Unix seconds. */
  checkUnsignedTime?(facts: PaymentFacts, until: bigint): Reason | undefined
  /** Whether a payment makes its own allowance. Absent where none is needed. */
  bringsAllowance?(facts: PaymentFacts): boolean
  /** Why a payment is not what is required. Costs nothing. */
  checkTerms(facts: PaymentFacts, requirements: PaymentRequirements): Reason | undefined
  /** What the payer's wallet has signed (EIP-712). */
  digest(facts: PaymentFacts, asset: SettlementAsset): Hex
  call(
    transfer: SignedTransfer,
    options: { asset: SettlementAsset; from?: Address | undefined },
  ): Call
  /** The only account that may make the call; anybody may where it is left out. */
  callerOf?(facts: PaymentFacts): Address | undefined
  callerIn?(call: Call): Address | undefined
  stateCall(key: PaymentKey): Call
  /** Reads the answer to {@link stateCall}; `undefined` where the contract does not say. */
  isUsed(result: CallResult | undefined, key: PaymentKey): boolean | undefined
  /** Finds out why a transfer would fail. @throws {@link ChainError} */
  diagnose(chain: Chain, asset: SettlementAsset, transfer: SignedTransfer): Promise<Reason>
  /**
   * Tells from a mined transaction whether it has paid the merchant.
   *
   * @returns `open` where the node does not know enough yet.
   */
  judge(network: JudgingNetwork, receipt: Receipt, payment: JudgedPayment): Promise<Outcome>
  usedIn(receipt: Receipt, payment: LedgerEntry): boolean
  /** Finds the transactions that may have used up the nonce. @throws {@link ChainError} */
  findUses(chain: Chain, payment: JudgedPayment): Promise<Uses>
  pays(call: Call, key: PaymentKey): boolean
}
