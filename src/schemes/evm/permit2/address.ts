import { lowerHex } from '../../../protocol/hex.js'
import { PERMIT2 as WRITTEN } from '../../../protocol/contracts.js'

/** Permit2, in lower case as all addresses of payments. */
export const PERMIT2 = lowerHex(WRITTEN)
