import { LRUCache } from 'lru-cache'
import type { IdempotencyClaim, IdempotencyStore } from './store.js'

/** Bytes that answers take in memory at most; beyond, those asked for longest ago are forgotten. */
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024

/** Bytes that a key takes without its answer, roughly. */
const ENTRY_BYTES = 512

/** Milliseconds an answer is kept at most. */
const RETENTION_MS = 24 * 3_600_000

/** Options of {@link memoryIdempotency}. */
export interface MemoryIdempotencyOptions {
  /** @defaultValue 64 MiB */
  readonly maxBytes?: number | undefined
  /** Unix time in milliseconds, for tests that own the clock. */
  readonly now?: () => number
}

/** A key that nobody works on. */
interface Entry {
  readonly fingerprint: string
  readonly answer?: string | undefined
  readonly isDone: boolean
}

/** Keeps answers in this process's memory. A claim lasts as long as its request. */
export function memoryIdempotency(options: MemoryIdempotencyOptions = {}): IdempotencyStore {
  const { maxBytes = DEFAULT_MAX_BYTES, now = Date.now } = options
  // Requests under way are as many as the server lets in, and are never forgotten.
  const claimed = new Map<string, { readonly fingerprint: string }>()
  const entries = new LRUCache<string, Entry>({
    maxSize: maxBytes,
    sizeCalculation: ({ answer = '' }) => ENTRY_BYTES + Buffer.byteLength(answer),
    ttl: RETENTION_MS,
    ttlResolution: 0,
    perf: { now },
  })

  return {
    async look({ key, fingerprint }) {
      const other = claimed.get(key)
      const known = entries.peek(key)
      const bound = other?.fingerprint ?? known?.fingerprint
      if (bound === undefined) return { state: 'free' }
      if (bound !== fingerprint) return { state: 'conflict' }
      if (other !== undefined) return { state: 'busy' }
      if (known?.isDone === true && known.answer !== undefined)
        return { state: 'done', answer: known.answer }
      return { state: 'paused', kept: known?.answer }
    },
    async begin({ key, fingerprint }) {
      const other = claimed.get(key)
      const known = entries.get(key)
      const bound = other?.fingerprint ?? known?.fingerprint ?? fingerprint
      if (bound !== fingerprint) return { state: 'conflict' }
      if (other !== undefined) return { state: 'busy' }
      if (known?.isDone === true && known.answer !== undefined)
        return { state: 'done', answer: known.answer }

      const kept = known?.answer
      claimed.set(key, { fingerprint })
      const end = (entry: Entry): void => {
        claimed.delete(key)
        entries.set(key, entry)
      }
      let answer = kept
      const claim: IdempotencyClaim = {
        kept,
        keep: async (ready) => void (answer = ready),
        finish: async (final) => end({ fingerprint, answer: final, isDone: true }),
        pause: async () => end({ fingerprint, answer, isDone: false }),
        abandon: async () => {
          if (kept !== undefined && answer === kept)
            return end({ fingerprint, answer, isDone: false })
          claimed.delete(key)
          entries.delete(key)
        },
      }
      return { state: 'fresh', claim }
    },
  }
}
