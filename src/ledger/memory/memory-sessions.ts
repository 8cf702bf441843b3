import type { ConsoleSession, SessionLimits, SessionStore } from '../console-sessions.js'

/** Keeps sessions in memory, until the process ends. */
export class MemorySessions implements SessionStore {
  readonly #sessions = new Map<string, ConsoleSession>()

  async add(session: ConsoleSession, limits: SessionLimits): Promise<void> {
    this.#sessions.set(session.hash, session)
    for (const [hash, { createdAt, usedAt }] of this.#sessions)
      if (createdAt < limits.createdBefore || usedAt < limits.usedBefore)
        this.#sessions.delete(hash)
    const ofToken = [...this.#sessions.values()].filter(({ token }) => token === session.token)
    const leastUsedFirst = ofToken.toSorted((one, other) => one.usedAt - other.usedAt)
    for (const { hash } of leastUsedFirst.slice(0, -limits.perToken)) this.#sessions.delete(hash)
  }

  async find(hash: string): Promise<ConsoleSession | undefined> {
    return this.#sessions.get(hash)
  }

  async noteUse(hash: string, usedAt: number): Promise<void> {
    const session = this.#sessions.get(hash)
    if (session !== undefined && session.usedAt < usedAt)
      this.#sessions.set(hash, { ...session, usedAt })
  }

  async remove(hash: string): Promise<void> {
    this.#sessions.delete(hash)
  }
}
