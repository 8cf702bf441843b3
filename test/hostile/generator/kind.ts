import type {
  Hex,
  PaymentPayload,
  PaymentRequirements,
} from '../../../src/shared/protocol/payment.js'
import type { AssetOptions } from '../../../src/gateway/config/options/network.js'
import type { Devnet } from '../../../src/tools/devnet/index.js'
import type { TestPayer } from '../../support/sign-payment.js'
import type { Form } from './forms.js'
import type { Mutation } from './mutation.js'

/** What a wallet signs, whatever the kind of payment calls it. */
export interface Terms {
  readonly amount: bigint
  readonly payTo: Hex
  readonly token: Hex
  readonly chainId: number
  /** Unix seconds. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 32 bytes. */
  readonly nonce: Hex
  /** Who may take the money, where the wallet signs that. @defaultValue who ought to */
  readonly spender?: Hex
  /** Who may say how much of it, where the wallet signs that. @defaultValue whom the offer names */
  readonly facilitator?: Hex
  /** What the wallet signs otherwise of a sponsored approval. */
  readonly approval?: Partial<ApprovalTerms>
}

/** A sponsored approval (EIP-2612). */
export interface ApprovalTerms {
  readonly owner: Hex
  readonly spender: Hex
  readonly amount: bigint
  readonly nonce: bigint
  readonly deadline: bigint
  readonly chainId: number
}

/** What a payload looks like, and which contract uses up its nonce. */
export type Shape = 'eip3009' | 'permit2' | 'upto'

/** Members of a payment by their nature, as dotted paths. Each is covered by the signature. */
export interface MutableParts {
  /** Decimal strings. */
  readonly uints: readonly string[]
  readonly addresses: readonly string[]
  /** Numbers, decimal or hexadecimal. */
  readonly numbers?: readonly string[]
  /** 32 bytes in hexadecimal. */
  readonly words: readonly string[]
  /** ECDSA signatures of 65 bytes. */
  readonly signatures: readonly string[]
}

/** A kind of payment: how it is made, and what of it can be changed. */
export interface Kind {
  readonly name: string
  readonly shape: Shape
  /** Whether an entry of `accepts` can be paid so. */
  takes(entry: PaymentRequirements): boolean
  /** Makes the payment that a wallet would make, of these terms. */
  pay(payer: TestPayer, entry: PaymentRequirements, terms: Terms): Promise<PaymentPayload>
  readonly parts: MutableParts
  /** What can be made of its signatures. @defaultValue what can be made of one by an account's own key */
  readonly signatureForms?: readonly Form[]
  /** The token that it moves. @defaultValue the devnet's USDC */
  readonly asset?: AssetOptions
  /** Its extensions cannot be left out. */
  readonly needsExtensions?: boolean
  /** Makes the accounts that pay, where they are not their owners, and what they need beside money. */
  accountsOf?(devnet: Devnet, owners: readonly Hex[]): Promise<readonly Hex[]>
  /** What can be done to this kind alone. */
  readonly mutations?: readonly Mutation[]
}
