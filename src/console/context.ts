import type { Operations } from '../health/operations.js'
import type { Asset } from '../money/assets.js'
import type { Network } from '../protocol/networks.js'
import type { ReadMerchant } from '../merchants/project.js'
import type { RouterContext } from '../router/context.js'

/** Dependencies of the admin API. */
export interface AdminContext extends RouterContext {
  /** SHA-256 of each admin token. */
  readonly adminTokens: readonly Buffer[]
  readonly readMerchant: ReadMerchant
  /** Each network, and its tokens. */
  readonly networks: readonly { readonly network: Network; readonly assets: readonly Asset[] }[]
  /** Whether the console is served. */
  readonly console: boolean
  readonly operations: Operations
}
