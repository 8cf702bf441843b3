import type { Operations } from '../health/operations.js'
import type { Asset } from '../money/assets.js'
import type { ReadMerchant } from '../merchants/project.js'
import type { RouterContext } from '../router/context.js'
import type { Produce } from '../http/respond-json.js'

/** What the admin API needs from the gateway. */
export interface AdminContext extends RouterContext {
  /** SHA-256 of each admin token. */
  readonly adminTokens: readonly Buffer[]
  readonly readMerchant: ReadMerchant
  /** The tokens of each network. */
  readonly networks: readonly { readonly assets: readonly Asset[] }[]
  readonly operations: Operations
}

/** What an endpoint of the admin API responds with. */
export type AdminEndpoint = Produce<AdminContext>
