export type { DevnetAccount } from './accounts.js'
export type { Hex } from './send-batch.js'
export { type Devnet, type DevnetInfo, type DevnetOptions, startDevnet } from './start-devnet.js'
