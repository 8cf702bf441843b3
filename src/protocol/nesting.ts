/** Most levels of objects and lists in a document that is read. */
export const MAX_NESTING = 64

/**
 * Tells whether a document is nested beyond {@link MAX_NESTING}.
 *
 * Code that walks a document by recursion, `JSON.stringify` included, fails at some depth. This does
 * not recurse.
 */
export function isNestedTooDeep(document: unknown): boolean {
  let level: readonly unknown[] = [document]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_NESTING) return true
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue
      for (const member of Object.values(value))
        if (typeof member === 'object' && member !== null) next.push(member)
    }
    level = next
  }
  return false
}
