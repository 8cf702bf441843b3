import { lowerHex } from '../../../../shared/protocol/hex.js'
import { PERMIT2 as WRITTEN } from '../../../../shared/protocol/contracts.js'

/** The address of Permit2 in lower case, like all addresses in payments. */
export const PERMIT2 = lowerHex(WRITTEN)
