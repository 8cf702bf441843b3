import type { ServerResponse } from 'node:http'

/** What a handler sees of its response while it is held. */
export interface HeldProgress {
  readonly res: ServerResponse
  /** Otherwise the handler sees the response as it is. */
  readonly isHeld: boolean
  readonly headersSent: boolean
  readonly writableEnded: boolean
}

/** Names the progress of a response. */
const PROGRESS = Symbol('progress')

type Held = ServerResponse & { readonly [PROGRESS]: HeldProgress }
type Member = 'headersSent' | 'writableEnded'

/**
 * The members of a response that show its progress. All responses have the same getters, and keep them: an
 * object that loses a member becomes a dictionary to V8. Where responses share a hidden class anyway, that
 * is slower and larger (where they do not, see `shareHiddenClass`).
 */
const MEMBERS: Readonly<Record<Member, PropertyDescriptor>> = {
  headersSent: memberOf('headersSent'),
  writableEnded: memberOf('writableEnded'),
}

function memberOf(name: Member): PropertyDescriptor & ThisType<Held> {
  return {
    configurable: true,
    get() {
      const progress = this[PROGRESS]
      if (progress.isHeld) return progress[name]
      // The response itself, of which `this` may be a derived object.
      return Reflect.get(Object.getPrototypeOf(progress.res) as object, name, this)
    },
  }
}

/** Shows a handler the progress of its held response, as members of the response. */
export function showProgress(progress: HeldProgress): void {
  Object.assign(progress.res, { [PROGRESS]: progress })
  Object.defineProperties(progress.res, MEMBERS)
}
