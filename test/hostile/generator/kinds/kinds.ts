import type { Kind } from '../kind.js'
import { counterfactual } from './counterfactual.js'
import { eip7702 } from './eip7702.js'
import { erc1271 } from './erc1271.js'
import { erc3009 } from './erc3009.js'
import { permit2, sponsoredPermit2, sponsoredUpto, upto } from './permit2.js'

/** Every kind of payment that is generated. */
export const kinds: readonly Kind[] = [
  ...[erc3009, erc1271, counterfactual, eip7702],
  ...[permit2, sponsoredPermit2, upto, sponsoredUpto],
]

/** One of each shape, signed by an account's own key. */
export const SHAPES: readonly Kind[] = [erc3009, permit2, upto]
