import type { ServerResponse } from 'node:http'

/** What a handler sees of its response while it is held. */
export interface HeldProgress {
  readonly res: ServerResponse
  /** Otherwise the handler sees the response as it is. */
  readonly isHeld: boolean
  readonly writableEnded: boolean
}

/** Names the progress of a response. */
const PROGRESS = Symbol('progress')

type Held = ServerResponse & { readonly [PROGRESS]: HeldProgress }

/**
 * The member of a response that shows its progress. All responses have the same getter, and keep it: an
 * object that loses a member becomes a dictionary to V8. Where responses share a hidden class anyway, that
 * is slower and larger (where they do not, see `shareHiddenClass`).
 */
const WRITABLE_ENDED: PropertyDescriptor & ThisType<Held> = {
  configurable: true,
  get() {
    const progress = this[PROGRESS]
    if (progress.isHeld) return progress.writableEnded
    // The response itself, of which `this` may be a derived object.
    return Reflect.get(Object.getPrototypeOf(progress.res) as object, 'writableEnded', this)
  },
}

/** Shows a handler the progress of its held response, as a member of the response. */
export function showProgress(progress: HeldProgress): void {
  Object.assign(progress.res, { [PROGRESS]: progress })
  Object.defineProperty(progress.res, 'writableEnded', WRITABLE_ENDED)
}
