import { lowerHex } from '../../../protocol/hex.js'

/** Permit2: the same address on every chain. In lower case, as all addresses here. */
export const PERMIT2 = lowerHex('0x000000000022D473030F116dDEE9F6B43aC78BA3')
