/** How many letters a typo may change. */
const MOST_SLIPS = 2

const LEAST_PREFIX = 3

/** How much of a name is compared (characters). */
const MAX_COMPARED = 40

const MOST_LISTED = 20

/** Finds the known name that was probably meant; `undefined` if none is close. */
export function closestName(written: string, known: readonly string[]): string | undefined {
  const closest = known
    .map((one) => ({ one, slips: slipsBetween(written, one) }))
    .filter(({ one, slips }) => slips <= Math.min(MOST_SLIPS, Math.floor(one.length / 2)))
    .toSorted((a, b) => a.slips - b.slips)[0]?.one
  return closest ?? completed(written, known)
}

/**
 * Completes or cuts what begins or ends the same: `desc` means `description`, `flow` means `paymentFlow`,
 * `maxHeldBytesTotal` means `maxHeldBytes`.
 */
function completed(written: string, known: readonly string[]): string | undefined {
  if (written.length < LEAST_PREFIX) return undefined
  const has = (one: string, other: string, where: 'startsWith' | 'endsWith'): boolean =>
    other.length >= LEAST_PREFIX && one.toLowerCase()[where](other.toLowerCase())
  const only = (found: readonly string[]) => (found.length === 1 ? found[0] : undefined)
  return (
    only(
      known.filter((one) => has(one, written, 'startsWith') || has(written, one, 'startsWith')),
    ) ?? only(known.filter((one) => has(one, written, 'endsWith')))
  )
}

/** Asks for the name that was probably meant, or lists all names. */
export function suggestName(written: string, known: readonly string[]): string {
  const meant = closestName(written, known)
  if (meant !== undefined) return `did you mean '${meant}'?`
  if (known.length > MOST_LISTED) return 'no other has a similar name: remove it'
  return known.length === 0 ? 'nothing is taken' : `there is ${known.join(', ')}`
}

/** Damerau-Levenshtein distance, ignoring case, `_` and `-`. */
function slipsBetween(written: string, meant: string): number {
  const [one = '', other = ''] = [written, meant].map((text) =>
    text.slice(0, MAX_COMPARED).toLowerCase().replaceAll(/[_-]/g, ''),
  )
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1]
      const isSwapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? Infinity) + 1 : Infinity,
      )
    }
    before = row
    row = next
  }
  return row[other.length] ?? Infinity
}
