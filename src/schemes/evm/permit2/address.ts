import { lowerHex } from '../../../protocol/hex.js'
import { PERMIT2 as WRITTEN } from '../../../protocol/contracts.js'

/** The address of Permit2 in lower case, like all addresses in payments. */
export const PERMIT2 = lowerHex(WRITTEN)
