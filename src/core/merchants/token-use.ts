import type { ProjectStore } from '../../ledger/index.js'
import type { Logger } from '../../shared/logger.js'
import { world } from '../../shared/world.js'

/** How often the use of one token is noted (ms). */
const NOTE_EVERY_MS = 60_000

/** How long uses gather before they are written together (ms). */
const GATHER_MS = 1000

/** How long closing waits for the last write (ms). */
const CLOSE_MS = 2000

/** Notes when tokens were last used, to the minute. Requests do not wait for it. */
export class TokenUse {
  readonly #store: Pick<ProjectStore, 'noteUse'>
  readonly #logger: Logger
  /** When each token was last noted, by `world.elapsed()`. */
  readonly #notedAt = new Map<string, number>()
  readonly #used = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined

  constructor(store: Pick<ProjectStore, 'noteUse'>, logger: Logger) {
    this.#store = store
    this.#logger = logger
  }

  markUsed(token: string): void {
    const now = world.elapsed()
    if (now - (this.#notedAt.get(token) ?? -Infinity) < NOTE_EVERY_MS) return
    this.#notedAt.set(token, now)
    this.#used.add(token)
    this.#timer ??= world.setTimeout(() => void this.#write(), GATHER_MS).unref()
  }

  /** Writes the rest, but waits only a moment for it. Never rejects. */
  async close(): Promise<void> {
    const written = Promise.resolve(this.#writing).then(() => this.#write())
    await Promise.race([written, world.sleep(CLOSE_MS, undefined, { ref: false })])
  }

  async #write(): Promise<void> {
    world.clearTimeout(this.#timer)
    this.#timer = undefined
    const tokens = [...this.#used]
    this.#used.clear()
    if (tokens.length === 0) return
    this.#writing = this.#store.noteUse(tokens).catch((error: unknown) => {
      // The next use notes it again.
      this.#logger.debug('The use of tokens could not be noted.', { error })
    })
    await this.#writing
  }
}
