/** Lists whose entries have positions, in pages. */
import { cursorParameter, limitParameter } from '../serve/pages.js'

/** Entries on a page. */
const DEFAULT_LIMIT = 100

const POSITION = /^p([0-9]{1,15})$/

/** The parameters `cursor`, the position of the last entry of the page before, and `limit`. */
export const positionQuery = {
  cursor: cursorParameter((name) => {
    const match = POSITION.exec(name)
    return match === null ? undefined : Number(match[1])
  }),
  limit: limitParameter('Entries', DEFAULT_LIMIT),
}

/** Names the position of an entry. */
export const namePosition = ({ position }: { readonly position: number }): string => `p${position}`
