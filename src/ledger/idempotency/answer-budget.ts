import type { RepeatableRequest } from '../once/store.js'

/** Approximate bytes of a key without its answer. */
const ENTRY_BYTES = 512

/** The answers of one project, oldest first: their bytes, by key. */
interface ProjectAnswers {
  bytes: number
  readonly sent: Map<string, number>
  /** Their clients may still have to ask for them. */
  readonly unsent: Map<string, number>
}

/**
 * Chooses the answers that give way when they take too much room: of the project that has most, those that
 * were sent before those that were not, and the oldest first.
 */
export class AnswerBudget {
  readonly #maxBytes: number
  readonly #projects = new Map<string, ProjectAnswers>()
  /** The project of each key. */
  readonly #owners = new Map<string, string>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * Adds an answer, or replaces it.
   *
   * @returns The keys whose answers give way. They are not counted any more.
   */
  add({ key, project = '' }: RepeatableRequest, answer: string): readonly string[] {
    this.remove(key)
    const bytes = ENTRY_BYTES + Buffer.byteLength(answer)
    const own = this.#projects.get(project) ?? { bytes: 0, sent: new Map(), unsent: new Map() }
    this.#projects.set(project, own)
    this.#owners.set(key, project)
    // Without an answer, there is nothing that a client could still ask for.
    own[answer === '' ? 'sent' : 'unsent'].set(key, bytes)
    own.bytes += bytes
    this.#bytes += bytes
    const dropped: string[] = []
    while (this.#bytes > this.#maxBytes) {
      const { sent, unsent } = this.#largest()
      const [oldest] = sent.size > 0 ? sent.keys() : unsent.keys()
      dropped.push(oldest!)
      this.remove(oldest!)
    }
    return dropped
  }

  noteSent(key: string): void {
    const own = this.#projects.get(this.#owners.get(key) ?? '')
    const bytes = own?.unsent.get(key)
    if (own === undefined || bytes === undefined) return
    own.unsent.delete(key)
    own.sent.set(key, bytes)
  }

  remove(key: string): void {
    const project = this.#owners.get(key)
    if (project === undefined) return
    const own = this.#projects.get(project)!
    const bytes = own.sent.get(key) ?? own.unsent.get(key) ?? 0
    own.sent.delete(key)
    own.unsent.delete(key)
    own.bytes -= bytes
    this.#bytes -= bytes
    this.#owners.delete(key)
    if (own.bytes === 0) this.#projects.delete(project)
  }

  #largest(): ProjectAnswers {
    return [...this.#projects.values()].reduce((one, other) =>
      other.bytes > one.bytes ? other : one,
    )
  }
}
