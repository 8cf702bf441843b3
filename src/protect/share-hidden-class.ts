import type { ServerResponse } from 'node:http'

const MARK = Symbol('mark')

/** From V8 13 on (Node 24), they are shared without this. */
const IS_NEEDED = Number.parseInt(process.versions.v8, 10) < 13

/**
 * Lets V8 read and write the members of Express's responses quickly.
 *
 * Express replaces the prototype of each response. V8 before 13 then makes a hidden class for this response
 * alone whenever a member is added, and none of its caches has it. Deleting a member turns the response into
 * a dictionary, and dictionaries share a hidden class, until a mounted app replaces the prototype again.
 */
export function shareHiddenClass(res: ServerResponse): void {
  if (IS_NEEDED && Reflect.set(res, MARK, true)) Reflect.deleteProperty(res, MARK)
}
