import { LRUCache } from 'lru-cache'
import type {
  IdempotencyAttempt,
  IdempotencyClaim,
  IdempotencyState,
  IdempotencyStore,
  RepeatableRequest,
} from './store.js'

/** Bytes of all answers in memory; beyond, the least recently used ones are dropped. */
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024

/** Approximate bytes of a key without its answer. */
const ENTRY_BYTES = 512

/** Milliseconds an answer is kept at most. */
const RETENTION_MS = 24 * 3_600_000

/** Options of {@link MemoryIdempotency}. */
export interface MemoryIdempotencyOptions {
  /** @defaultValue 64 MiB */
  readonly maxBytes?: number | undefined
  /** Unix time in milliseconds, for tests that own the clock. */
  readonly now?: () => number
}

/** A key that is not claimed. */
interface Entry {
  readonly fingerprint: string
  readonly answer?: string | undefined
  readonly isDone: boolean
}

/** Keeps keys and answers in the memory of this process. */
export class MemoryIdempotency implements IdempotencyStore {
  /** Fingerprints of claimed keys. Bounded by the requests under way, and never evicted. */
  readonly #claimed = new Map<string, string>()
  readonly #entries: LRUCache<string, Entry>

  constructor({ maxBytes = DEFAULT_MAX_BYTES, now = Date.now }: MemoryIdempotencyOptions = {}) {
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ answer = '' }) => ENTRY_BYTES + Buffer.byteLength(answer),
      ttl: RETENTION_MS,
      ttlResolution: 0,
      perf: { now },
    })
  }

  async look(request: RepeatableRequest): Promise<IdempotencyState> {
    return this.#stateOf(request, this.#entries.peek(request.key))
  }

  async begin(request: RepeatableRequest): Promise<IdempotencyAttempt> {
    const found = this.#stateOf(request, this.#entries.get(request.key))
    if (found.state !== 'free' && found.state !== 'paused') return found
    const kept = found.state === 'paused' ? found.kept : undefined
    return { state: 'fresh', claim: this.#claim(request, kept) }
  }

  #stateOf({ key, fingerprint }: RepeatableRequest, known: Entry | undefined): IdempotencyState {
    const claimed = this.#claimed.get(key)
    const bound = claimed ?? known?.fingerprint
    if (bound === undefined) return { state: 'free' }
    if (bound !== fingerprint) return { state: 'conflict' }
    if (claimed !== undefined) return { state: 'busy' }
    if (known?.isDone === true && known.answer !== undefined)
      return { state: 'done', answer: known.answer }
    return { state: 'paused', kept: known?.answer }
  }

  #claim({ key, fingerprint }: RepeatableRequest, kept: string | undefined): IdempotencyClaim {
    this.#claimed.set(key, fingerprint)
    const end = (entry: Entry): void => {
      this.#claimed.delete(key)
      this.#entries.set(key, entry)
    }
    let answer = kept
    return {
      kept,
      keep: async (ready) => void (answer = ready),
      finish: async (final) => end({ fingerprint, answer: final, isDone: true }),
      pause: async () => end({ fingerprint, answer, isDone: false }),
      abandon: async () => {
        if (kept !== undefined && answer === kept)
          return end({ fingerprint, answer, isDone: false })
        this.#claimed.delete(key)
        this.#entries.delete(key)
      },
    }
  }
}
