import { setTimeout as sleep } from 'node:timers/promises'
import { MULTICALL3 } from '../chain/abi.js'
import type { Chain, Receipt } from '../chain/chain.js'
import { RELAYER_LEASE_MS, type LedgerStore, type Submission } from '../ledger/ledger.js'
import type { Logger } from '../logger.js'
import type { Address, Hex } from '../protocol/payment.js'
import { createBatcher, type BatchMember } from './batcher.js'
import { earlierUnknown, gasPriceTooHigh, withoutFunds, withoutLease } from './relayer-errors.js'
import { feesWithin } from './relayer-fees.js'
import { watchFunds, type RelayerFunds } from './relayer-funds.js'
import { keepLease } from './relayer-lease.js'
import { createRelayer } from './relayer.js'
import type {
  TransactionRequest,
  SendResult,
  RejectedTransaction,
  Relayer,
  UnsentTransaction,
} from './relayer.js'

/** Milliseconds after which a transaction that is not mined is replaced. */
const DEFAULT_STUCK_MS = 30_000

/** Milliseconds a request waits for a lease, and between two looks for one. */
const LEASE_WAIT_MS = { patience: 1000, step: 250 }

/** Times a transaction is priced anew because the base fee had risen since the last look. */
const MOST_REPRICINGS = 3

/** Times a settlement looks for another relayer because the lease of one has just ended. */
const MOST_LEASES_LOST = 5

/** All relayers of one network. */
export interface RelayerPool {
  /** The relayers' accounts, in the order of their keys. */
  readonly addresses: readonly [Address, ...Address[]]
  /**
   * Makes sure that a settlement could be sent now.
   *
   * @throws {@link RelayerError} `relayer_without_funds`, `relayer_without_lease`,
   * `gas_price_too_high`; {@link LedgerError} and {@link ChainError} when they could not be asked.
   */
  requireReady(): Promise<void>
  /**
   * Sends a call from the least busy relayer that can; in one transaction with others that come at
   * the same time.
   *
   * What is rejected was taken back.
   *
   * @throws As {@link RelayerPool.requireReady}; nothing was sent then.
   */
  send(member: BatchMember): Promise<SendResult>
  /**
   * Sends a call in a transaction of its own. What it writes ahead is the caller's to take back.
   *
   * @throws As {@link RelayerPool.requireReady}; nothing was sent then.
   */
  sendAlone(request: TransactionRequest): Promise<SendResult>
  /** Whether a transaction of one of the accounts was sent for a payment of this ledger. */
  knowsTransaction(transaction: Hex): Promise<boolean>
  /** All hashes under which a transaction may be mined: more than one, where it was replaced. */
  transactionsOf(submission: Submission): readonly Hex[]
  /** Takes note that a transaction is mined: its relayer is less busy. */
  noteMined(receipt: Receipt): void
}

/** Options of {@link createRelayerPool}. */
export interface RelayerPoolOptions {
  readonly chain: Chain
  readonly privateKeys: readonly [Hex, ...Hex[]]
  readonly ledger: LedgerStore
  readonly logger: Logger
  /** Most that is offered for gas, in wei. @defaultValue no limit */
  readonly maxFeePerGas?: bigint | undefined
  /** Milliseconds after which a transaction is replaced that blocks go by without. @defaultValue 30000 */
  readonly stuckMs?: number | undefined
  /** Called once when a relayer's balance has become good for few settlements more. */
  readonly onLow?: (low: { readonly relayer: Address; readonly balance: bigint }) => void
  /** Ends work in the background. */
  readonly closed: AbortSignal
}

/** A relayer, and what is known of its gas money. */
interface Member {
  readonly relayer: Relayer
  readonly funds: RelayerFunds
}

/** Makes the relayers of a network. */
export function createRelayerPool(options: RelayerPoolOptions): RelayerPool {
  const { chain, privateKeys, ledger, maxFeePerGas, closed, onLow } = options
  const startedAt = performance.now()

  const [first, ...others] = privateKeys
  const join = (privateKey: Hex): Member => {
    const relayer: Relayer = createRelayer({
      ...options,
      privateKey,
      stuckMs: options.stuckMs ?? DEFAULT_STUCK_MS,
      mayUse: () => lease.has(relayer.address),
      isAwaited: () => batcher.waiting > 0,
    })
    const { address } = relayer
    const low = (balance: bigint): void => onLow?.({ relayer: address, balance })
    return { relayer, funds: watchFunds({ chain, address, onLow: low }) }
  }
  const members = [join(first), ...others.map(join)] as const
  const addresses = [
    members[0].relayer.address,
    ...members.slice(1).map(({ relayer }) => relayer.address),
  ] as const
  const lease = keepLease({
    ledger,
    chainId: chain.network.chainId,
    addresses,
    busy: () =>
      members.flatMap(({ relayer }) =>
        relayer.load > 0 && lease.has(relayer.address) ? [relayer.address] : [],
      ),
    closed,
  })

  /** Those that this process may send from; waits for some a while. */
  const leased = async (): Promise<readonly Member[]> => {
    await lease.refresh()
    // After a start, those of a predecessor that died are still to become free.
    const deadline = Math.max(
      startedAt + RELAYER_LEASE_MS + LEASE_WAIT_MS.patience,
      performance.now() + LEASE_WAIT_MS.patience,
    )
    for (;;) {
      const ours = members.filter(({ relayer }) => lease.has(relayer.address))
      if (ours.length > 0) return ours
      if (performance.now() > deadline || closed.aborted) throw withoutLease(chain)
      await sleep(LEASE_WAIT_MS.step)
      await lease.renew()
    }
  }

  /**
   * Finds the least busy relayer that can pay gas, and does something with it at once: between
   * choosing and using nobody else may choose.
   *
   * @returns `undefined` when all were tried.
   */
  const withUsable = async <T>(
    tried: ReadonlySet<Relayer>,
    use: (member: Member) => T,
  ): Promise<Awaited<T> | undefined> => {
    if (feesWithin(await chain.getFees(), maxFeePerGas) === undefined) throw gasPriceTooHigh(chain)
    const poor = new Set<Member>()
    for (;;) {
      const untried = (await leased()).filter(({ relayer }) => !tried.has(relayer))
      const [best] = untried.filter((one) => !poor.has(one)).toSorted(byPreference)
      if (best === undefined && tried.size > 0) return undefined
      if (best === undefined) throw withoutFunds(chain)
      if (best.funds.suffice === true) return await use(best)
      if (!(await best.funds.check())) poor.add(best)
    }
  }

  const trySend = (request: TransactionRequest, tried: ReadonlySet<Relayer>) =>
    withUsable(tried, async (member) => ({ member, sent: await member.relayer.send(request) }))

  /** Sends from one relayer after the other, until a node has it or no other would fare better. */
  const sendFromAny = async (request: TransactionRequest): Promise<SendResult> => {
    const tried = new Set<Relayer>()
    let isNonceRefreshed = false
    let leasesLost = 0
    let repricings = 0
    let last: SendResult | UnsentTransaction | undefined
    for (;;) {
      const attempt = await trySend(request, tried)
      if (attempt === undefined) throw failure(chain, last)
      const { member, sent } = attempt
      last = sent
      if (sent.kind === 'accepted' || sent.kind === 'unknown') return sent
      // Another would be written down in its place: only what is not out may be forgotten.
      if (sent.kind === 'rejected' && (await mayBeBroadcast(sent)))
        return { kind: 'unknown', submission: sent.submission }
      switch (sent.cause) {
        case 'insufficient_gas_funds':
          member.funds.deny()
          tried.add(member.relayer)
          break
        case 'unknown':
          tried.add(member.relayer)
          break
        case 'lease':
          // Just given to another process; perhaps others are left, or were given to this one.
          if (++leasesLost > MOST_LEASES_LOST) throw withoutLease(chain)
          break
        case 'stale_nonce':
          // Somebody else sent from this account: the count is asked anew, once.
          if (isNonceRefreshed) return sent
          isNonceRefreshed = true
          break
        case 'fee_too_low':
          if (++repricings > MOST_REPRICINGS) return sent
          await chain.getFees('fresh')
          break
        case 'other':
          return sent
      }
    }
  }

  /** Whether a transaction that was rejected is out all the same, or may be. */
  const mayBeBroadcast = async ({ cause, submission }: RejectedTransaction): Promise<boolean> =>
    cause !== 'lease' && (await chain.hasTransaction(submission.transaction).catch(() => true))

  const batcher = createBatcher({
    ledger,
    send: sendFromAny,
    maxInFlight: () =>
      Math.max(1, members.filter(({ relayer }) => lease.has(relayer.address)).length),
    canBatch: () => chain.hasCode(MULTICALL3).catch(() => false),
  })

  const find = (address: Address): Relayer | undefined =>
    members.find(({ relayer }) => relayer.address.toLowerCase() === address.toLowerCase())?.relayer

  return {
    addresses,
    async requireReady() {
      await withUsable(new Set(), () => undefined)
    },
    send: batcher.send,
    sendAlone: sendFromAny,
    knowsTransaction: (transaction) => ledger.knowsTransaction(transaction),
    transactionsOf(submission) {
      const { relayer, transaction, replaces = [] } = submission
      return find(relayer)?.transactionsOf(submission) ?? [transaction, ...replaces]
    },
    noteMined: ({ sender, transaction }) => find(sender)?.noteMined(transaction),
  }
}

/** Those that can send at once come first, the least busy first of all. */
function byPreference(one: Member, other: Member): number {
  return (
    Number(one.funds.suffice === false) - Number(other.funds.suffice === false) ||
    Number(one.relayer.hasUnknown) - Number(other.relayer.hasUnknown) ||
    one.relayer.load - other.relayer.load
  )
}

/** Why no relayer could send. */
function failure(chain: Chain, last: SendResult | UnsentTransaction | undefined): Error {
  if (last?.kind === 'unsent') return earlierUnknown(chain)
  if (last?.kind === 'rejected' && last.cause === 'insufficient_gas_funds')
    return withoutFunds(chain)
  return withoutLease(chain)
}
