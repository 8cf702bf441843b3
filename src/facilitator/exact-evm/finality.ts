import type { Logger } from '../../logger.js'
import type { NetworkCore } from './network-core.js'
import { authorizationStateCall, saysUsed, type SubmittedPayment } from './outcome.js'

/** Milliseconds for which a settled payment is looked at: reorganisations reach back no further. */
const WATCH_MS = 180_000

/** Settled payments that are looked at in one request. */
const BATCH = 200

/** Settled payments that are looked at; beyond, the oldest are let go. */
const MAX_WATCHED = 20_000

/** Looks after payments that are settled, but not final. */
export interface FinalityWatch {
  /** Takes up a payment that was just settled. */
  watch(core: NetworkCore, payment: SubmittedPayment): void
  /**
   * Hands over again what a reorganisation dropped: the same bytes, which can pay only once.
   *
   * @throws {@link ChainError}
   */
  check(): Promise<void>
}

interface Watched {
  readonly core: NetworkCore
  readonly payment: SubmittedPayment
  /** By the process's own monotonic clock. */
  readonly until: number
}

/**
 * A receipt is believed when it is first seen: no request waits for confirmations. Should the chain
 * forget the transaction later, the relayer sends it again.
 */
export function createFinalityWatch({
  now,
  logger,
}: {
  readonly now: () => bigint
  readonly logger: Logger
}): FinalityWatch {
  const watched = new Set<Watched>()

  const checkBatch = async (core: NetworkCore, batch: readonly Watched[]): Promise<void> => {
    const calls = batch.map(({ payment }) => authorizationStateCall(payment))
    const states = await core.chain.callMany(calls)
    for (const [index, one] of batch.entries()) {
      const { payment, until } = one
      const isDropped = saysUsed(states[index]) === false
      const isLapsed = now() > payment.validBefore
      if (performance.now() > until && (!isDropped || isLapsed)) watched.delete(one)
      if (!isDropped || isLapsed) continue
      const { transaction, raw } = payment.submission
      logger.warn('A settled payment was undone by the chain and is sent again.', { transaction })
      await core.chain.broadcast(raw)
    }
  }

  return {
    watch(core, payment) {
      const [oldest] = watched
      if (oldest !== undefined && watched.size >= MAX_WATCHED) watched.delete(oldest)
      watched.add({ core, payment, until: performance.now() + WATCH_MS })
    },
    async check() {
      const byCore = new Map<NetworkCore, Watched[]>()
      for (const one of watched) byCore.set(one.core, [...(byCore.get(one.core) ?? []), one])
      for (const [core, all] of byCore)
        for (let start = 0; start < all.length; start += BATCH)
          await checkBatch(core, all.slice(start, start + BATCH))
    },
  }
}
