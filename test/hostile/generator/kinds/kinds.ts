import type { Kind } from '../kind.js'
import { erc3009 } from './erc3009.js'

/** Every kind of payment that is generated. */
export const kinds: readonly Kind[] = [erc3009]
