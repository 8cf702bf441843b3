/**
 * A local chain for development and tests: `express-x402-gateway/devnet`.
 *
 * @packageDocumentation
 */
import '../../shared/http/check-node.js'
export type { DevnetAccount } from './accounts.js'
export type { Hex } from '../../shared/protocol/payment.js'
export { type Devnet, type DevnetInfo, type DevnetOptions, startDevnet } from './start-devnet.js'
