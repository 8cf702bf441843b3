import type { Hex } from '../../protocol/payment.js'
import type { AuthorizationKey, Submission } from '../record.js'
import {
  KEPT_MINED,
  LISTED_TRANSACTIONS,
  LOOK_AFTER_MS,
  NONCE_LOWERED_AFTER_MS,
  type PendingRelayer,
  type RelayerAccount,
  type RelayerTransaction,
  type RelayerTransactions,
} from '../relayer-transactions.js'
import type { PaymentRecords } from './payment-records.js'
import {
  bytesToKeep,
  hashesOf,
  withBytes,
  withoutBytes,
  type TransactionBytes,
} from './stored-record.js'

/** A transaction, and the payments that it was first written down for. */
interface KeptTransaction {
  /** With `0x` in place of its bytes. */
  readonly submission: Submission
  readonly bytes: TransactionBytes
  readonly keys: readonly AuthorizationKey[]
  readonly writtenAt: number
}

/** What is known of one account. */
interface KeptRelayer extends RelayerAccount {
  nextNonce: number
  minedNonce: number
  claimedAt: number
  /** By account nonce, oldest first. */
  readonly transactions: Map<number, KeptTransaction>
  /** The end of the last {@link MemoryRelayers.submitNext}. Never rejects. */
  last: Promise<unknown>
}

/** Hands out account nonces in this process. */
export class MemoryRelayers implements RelayerTransactions {
  readonly #payments: PaymentRecords
  readonly #relayers = new Map<string, KeptRelayer>()

  constructor(payments: PaymentRecords) {
    this.#payments = payments
  }

  submitNext: RelayerTransactions['submitNext'] = async (account, leastNonce, sign) => {
    const relayer = this.#of(account)
    const work = async (): Promise<readonly AuthorizationKey[]> => {
      const accountNonce = Math.max(relayer.nextNonce, leastNonce)
      const { submission, members } = await sign(accountNonce)
      this.#payments.records.requireOpen()
      const lost = members.filter((member) => !this.#payments.maySubmit(member))
      if (lost.length > 0) return lost.map(({ key }) => key)
      const keys = members.map(({ key }) => key)
      const bytes = keep(relayer, submission, keys)
      for (const member of members) this.#payments.submit(member.key, member.submission, bytes)
      relayer.nextNonce = accountNonce + 1
      return []
    }
    const turn = relayer.last.then(work)
    relayer.last = turn.catch(() => undefined)
    return turn
  }

  async replaceTransaction(chainId: number, earlier: Hex, next: Submission): Promise<boolean> {
    const replaced = this.#replace(chainId, next, earlier)
    for (const key of replaced?.keys ?? []) {
      const record = this.#payments.find(key)
      if (record?.state !== 'submitted' || record.submission.transaction !== earlier) continue
      const replaces = [earlier, ...(record.submission.replaces ?? [])]
      this.#payments.submit(key, { ...next, replaces }, replaced?.bytes)
    }
    return replaced !== undefined
  }

  async fillNonce(chainId: number, empty: Submission, earlier?: Hex): Promise<boolean> {
    return this.#replace(chainId, empty, earlier) !== undefined
  }

  async claimPending(chainId: number): Promise<readonly PendingRelayer[]> {
    this.#payments.records.requireOpen()
    const now = performance.now()
    const pending = [...this.#relayers.values()].filter(
      (one) => one.chainId === chainId && one.nextNonce > one.minedNonce,
    )
    return pending.map((one) => {
      const unmined = [...one.transactions].filter(([nonce]) => nonce >= one.minedNonce)
      const isClaimed =
        now - one.claimedAt >= LOOK_AFTER_MS.pause &&
        unmined.some(([, { writtenAt }]) => now - writtenAt >= LOOK_AFTER_MS.age)
      if (isClaimed) one.claimedAt = now
      const { relayer, nextNonce, minedNonce } = one
      return { chainId, relayer, nextNonce, minedNonce, isClaimed }
    })
  }

  async listTransactions(
    account: RelayerAccount,
    fromNonce: number,
  ): Promise<readonly RelayerTransaction[]> {
    const now = performance.now()
    const kept = [...this.#of(account).transactions]
      .filter(([nonce]) => nonce >= fromNonce)
      .toSorted(([one], [other]) => one - other)
      .slice(0, LISTED_TRANSACTIONS)
    return Promise.all(
      kept.map(async ([, { submission, bytes, keys, writtenAt }]) => ({
        ...withBytes(submission, bytes),
        isNeeded: await this.#isNeeded(submission.transaction, keys),
        ageMs: now - writtenAt,
      })),
    )
  }

  async noteMinedNonce(account: RelayerAccount, minedNonce: number): Promise<void> {
    const relayer = this.#of(account)
    relayer.minedNonce = minedNonce
    for (const nonce of relayer.transactions.keys())
      if (nonce < minedNonce - KEPT_MINED) relayer.transactions.delete(nonce)
  }

  async lowerNonce(account: RelayerAccount, nonce: number): Promise<void> {
    const relayer = this.#of(account)
    const since = performance.now() - NONCE_LOWERED_AFTER_MS
    const later = [...relayer.transactions].filter(([one]) => one >= nonce)
    if (later.some(([one, { writtenAt }]) => writtenAt > since || one >= relayer.minedNonce)) return
    for (const [one] of later) relayer.transactions.delete(one)
    relayer.nextNonce = Math.min(relayer.nextNonce, nonce)
    relayer.minedNonce = Math.min(relayer.minedNonce, nonce)
  }

  #of({ chainId, relayer }: RelayerAccount): KeptRelayer {
    this.#payments.records.requireOpen()
    const id = `${chainId}:${relayer.toLowerCase()}`
    const known = this.#relayers.get(id)
    if (known !== undefined) return known
    const counts = { nextNonce: 0, minedNonce: 0, claimedAt: -Infinity }
    const created: KeptRelayer = {
      ...{ chainId, relayer, ...counts },
      transactions: new Map(),
      last: Promise.resolve(),
    }
    this.#relayers.set(id, created)
    return created
  }

  /** @returns The payments of the transaction that was replaced, if it was, and the bytes of the next one. */
  #replace(
    chainId: number,
    next: Submission,
    earlier: Hex | undefined,
  ): Pick<KeptTransaction, 'keys' | 'bytes'> | undefined {
    const relayer = this.#of({ chainId, relayer: next.relayer })
    const known = relayer.transactions.get(next.accountNonce)
    if (known?.submission.transaction !== earlier) return undefined
    const keys = known?.keys ?? []
    return { keys, bytes: keep(relayer, next, keys) }
  }

  /** Whether a payment still waits for this transaction, or was paid by it. */
  async #isNeeded(transaction: Hex, keys: readonly AuthorizationKey[]): Promise<boolean> {
    const names = (record: ReturnType<PaymentRecords['find']>): boolean =>
      (record?.state === 'submitted' || record?.state === 'settled') &&
      hashesOf(record)[0] === transaction
    if (keys.length > 0) return keys.some((key) => names(this.#payments.find(key)))
    // A settled payment that is sent again after a reorganisation is named by its record alone.
    for await (const record of this.#payments.records.all()) if (names(record)) return true
    return false
  }
}

/** @returns The bytes of the transaction, as they are kept. */
function keep(
  relayer: KeptRelayer,
  submission: Submission,
  keys: readonly AuthorizationKey[],
): TransactionBytes {
  const bytes = bytesToKeep(submission)
  const kept = { submission: withoutBytes(submission), bytes, keys, writtenAt: performance.now() }
  relayer.transactions.set(submission.accountNonce, kept)
  return bytes
}
