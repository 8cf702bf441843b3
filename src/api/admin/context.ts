import type { Operations } from '../../operate/health/operations.js'
import type { Asset } from '../../shared/money/assets.js'
import type { Network } from '../../shared/protocol/networks.js'
import type { AdminToken } from '../../core/merchants/access.js'
import type { ReadMerchant } from '../../core/merchants/project.js'
import type { RouterContext } from '../context.js'

export interface AdminContext extends RouterContext {
  readonly adminTokens: readonly AdminToken[]
  /** How long a new `payTo` waits until it counts (ms). */
  readonly payToDelayMs: number
  readonly readMerchant: ReadMerchant
  readonly networks: readonly { readonly network: Network; readonly assets: readonly Asset[] }[]
  readonly console: boolean
  readonly operations: Operations
}
