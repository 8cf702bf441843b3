import type { ServerResponse } from 'node:http'

const MARK = Symbol('mark')

/** V8 13 (Node 24) shares hidden classes in spite of a replaced prototype. */
const IS_NEEDED = Number.parseInt(process.versions.v8, 10) < 13

/**
 * Gives Express's responses a hidden class in common, so that V8's inline caches work for them.
 *
 * Express replaces the prototype of each response. With each member that is added then, V8 before 13 gives
 * the response a hidden class of its own, for which every inline cache misses. A response that loses a member
 * becomes a dictionary, and dictionaries share a hidden class. (Where a mounted app replaces the prototype
 * again, the response has one of its own again.)
 */
export function shareHiddenClass(res: ServerResponse): void {
  if (IS_NEEDED && Reflect.set(res, MARK, true)) Reflect.deleteProperty(res, MARK)
}
