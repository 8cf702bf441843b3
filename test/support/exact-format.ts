import { exactFormatWith } from '../../src/core/schemes/evm/exact.js'

/** The scheme `exact` where no contract can be asked. */
export const exactFormat = exactFormatWith(() => undefined)
