import { aggregate, MULTICALL3 } from '../../chain/abi.js'
import { RelayerError } from '../../errors.js'
import type { Submission } from '../../ledger/ledger.js'
import { batchGasLimit } from './batch-gas.js'
import type { Dispatch, Dispatched } from './relayer.js'

/** Settlements that share a transaction at most. */
const MOST_TOGETHER = 20

/** Gas that a transaction may take together: no network's limit for one (EIP-7825), nor near it. */
const MOST_GAS = 6_000_000n

/** Gas that Multicall3 takes, for a transaction and for each call in it, where none was measured. */
const MULTICALL_GAS = { base: 30_000n, each: 5000n }

/** Options of {@link createGroupCommit}. */
export interface GroupCommitOptions {
  /** Sends one transaction. */
  readonly send: (dispatch: Dispatch) => Promise<Dispatched>
  /** Transactions that may be on their way to the node side by side. */
  readonly lanes: () => number
  /** Whether calls can share a transaction: whether the network has Multicall3. */
  readonly canShare: () => Promise<boolean>
}

/** Sends settlements, several in one transaction where they come at once. */
export interface GroupCommit {
  send(dispatch: Dispatch): Promise<Dispatched>
  /** Settlements that wait for a transaction. */
  readonly waiting: number
}

/**
 * Lets settlements that come at once share a transaction, as databases commit in groups.
 *
 * One that comes alone goes alone, at once. What comes while a transaction is being sent gathers, and
 * goes out together as soon as that has ended: no timer, and nothing waits when idle. Calls in one
 * transaction may fail each by itself; its logs tell which did.
 */
export function createGroupCommit({ send, lanes, canShare }: GroupCommitOptions): GroupCommit {
  let waiting: Waiting[] = []
  let sending = 0
  let isPumping = false

  const take = (most: number): Waiting[] => {
    const [first] = waiting
    let gas = 0n
    const fits = ({ dispatch }: Waiting): boolean => (gas += dispatch.gas) <= MOST_GAS
    const batch =
      first === undefined || first.dispatch.isAlone || first.dispatch.gas > MOST_GAS
        ? waiting.slice(0, 1)
        : waiting
            .filter(({ dispatch }) => !dispatch.isAlone)
            .slice(0, most)
            .filter(fits)
    waiting = waiting.filter((one) => !batch.includes(one))
    return batch
  }

  const pump = async (): Promise<void> => {
    const most = (await canShare()) ? MOST_TOGETHER : 1
    isPumping = false
    while (waiting.length > 0 && sending < lanes()) {
      sending++
      void sendChecked(take(most)).finally(() => {
        sending--
        pumpSoon()
      })
    }
  }

  const pumpSoon = (): void => {
    if (isPumping || waiting.length === 0) return
    isPumping = true
    // At the end of this turn of the event loop: what came in it goes together.
    setImmediate(() => void pump())
  }

  /** Leaves out what may no longer be sent as it was asked for. Never rejects. */
  const sendChecked = async (all: readonly Waiting[]): Promise<void> => {
    const checks = await Promise.allSettled(all.map(async ({ dispatch }) => dispatch.recheck?.()))
    const good = all.filter((one, index) => {
      const check = checks[index]
      if (check?.status === 'rejected') one.reject(check.reason)
      return check?.status !== 'rejected'
    })
    if (good.length > 0) await sendTogether(good)
  }

  /** Never rejects: each of them is told by itself. */
  const sendTogether = async (all: readonly Waiting[], stale?: Submission): Promise<void> => {
    const shared = share(all, stale)
    const each = async (): Promise<void> => {
      for (const one of all) await sendTogether([one], shared.unsent())
    }
    try {
      const sent = await send(shared.dispatch)
      if (sent.outcome === 'rejected') {
        if (sent.because === 'other' && all.length > 1) return await each()
        await shared.takeBack(all)
      }
      for (const { resolve } of all) resolve(sent)
    } catch (error) {
      const { lost } = shared
      const left = all.filter((one) => !lost.has(one))
      await shared.takeBack([...lost.keys()]).catch(() => undefined)
      for (const [one, reason] of lost) one.reject(reason)
      // Only those could not be written down: the rest goes without them.
      if (lost.size > 0 && left.length > 0) return sendTogether(left, shared.unsent())
      if (isTooDearTogether(error) && all.length > 1) return each()
      await shared.takeBack(left).catch(() => undefined)
      for (const one of left) one.reject(error)
    }
  }

  return {
    send: (dispatch) =>
      new Promise((resolve, reject) => {
        waiting.push({ dispatch, resolve, reject })
        pumpSoon()
      }),
    get waiting() {
      return waiting.length
    },
  }
}

interface Waiting {
  readonly dispatch: Dispatch
  readonly resolve: (sent: Dispatched) => void
  readonly reject: (error: unknown) => void
}

/** Several settlements as one transaction. */
interface Shared {
  readonly dispatch: Dispatch
  /** Those that could not be written down, and why; nothing was sent then. */
  readonly lost: ReadonlyMap<Waiting, unknown>
  /** What is written down of them, though it was not sent and will not be. */
  unsent(): Submission | undefined
  /** Forgets that, of some of them. */
  takeBack(some: readonly Waiting[]): Promise<void>
}

/** @param stale - What an earlier attempt wrote down, and did not send. */
function share(all: readonly Waiting[], stale: Submission | undefined): Shared {
  const lost = new Map<Waiting, unknown>()
  let unsent = stale

  const writeAhead = async (submission: Submission): Promise<void> => {
    const results = await Promise.allSettled(
      all.map(({ dispatch }) => dispatch.writeAhead(submission)),
    )
    for (const [index, result] of results.entries()) {
      const one = all[index]
      if (result.status === 'rejected' && one !== undefined) lost.set(one, result.reason)
    }
    const [reason] = lost.values()
    // From here on it may be sent, and is not forgotten unless it is taken back.
    if (lost.size === 0) unsent = undefined
    else if (lost.size < all.length) unsent = submission
    if (lost.size > 0) throw reason
  }

  const [only] = all
  return {
    dispatch: {
      ...(only !== undefined && all.length === 1 ? only.dispatch : together(all)),
      writeAhead,
      // Put off: it may yet be sent otherwise.
      takeBack: async (submission) => {
        unsent = submission
      },
    },
    lost,
    unsent: () => unsent,
    async takeBack(some) {
      await Promise.all(
        some.map(async (one) => {
          const submission = lost.has(one) ? stale : unsent
          if (submission !== undefined) await one.dispatch.takeBack(submission)
        }),
      )
    },
  }
}

function together(all: readonly Waiting[]): Pick<Dispatch, 'call' | 'gas'> {
  const data = aggregate(all.map(({ dispatch }) => dispatch.call))
  const shares = all.flatMap(({ dispatch }) => dispatch.share ?? [])
  const gas =
    shares.length === all.length
      ? batchGasLimit(shares, data)
      : all.reduce(
          (sum, { dispatch }) => sum + dispatch.gas + MULTICALL_GAS.each,
          MULTICALL_GAS.base,
        )
  return { call: { to: MULTICALL3, data }, gas }
}

/** No relayer can pay for all of them at once; perhaps for one. */
function isTooDearTogether(error: unknown): boolean {
  return error instanceof RelayerError && error.code === 'relayer_without_funds'
}
