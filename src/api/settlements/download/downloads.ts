import { Slots } from '../../../shared/http/slots.js'
import { world } from '../../../shared/world.js'

const DOWNLOADS = {
  projects: { total: 8, perKey: 2 },
  operators: { total: 4, perKey: 2 },
}

/** Owners of slots: projects cannot take those of operators. */
export type SlotOwner = keyof typeof DOWNLOADS

export class Downloads {
  readonly slots = {
    projects: new Slots(DOWNLOADS.projects),
    operators: new Slots(DOWNLOADS.operators),
  }
  #last: Promise<unknown> = Promise.resolve()

  /**
   * Reads a page of a download, one at a time, and rests afterwards for as long as that took: all of them together
   * leave others half of the time.
   */
  inTurn<T>(read: () => Promise<T>): Promise<T> {
    let startedAt = 0
    const done = this.#last.then(() => {
      startedAt = world.elapsed()
      return read()
    })
    const rest = () => world.sleep(world.elapsed() - startedAt)
    this.#last = done.then(rest, rest)
    return done
  }
}
