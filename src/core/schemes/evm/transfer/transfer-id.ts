import type { Log, Receipt } from '../../../chain/types.js'
import { sha256 } from '../../../../shared/crypto/sha256.js'

/** Names a transfer log: with its block, because after a reorganisation it may be in another place. */
export function transferId({ transaction, blockHash, logs }: Receipt, transfer: Log): string {
  const mined = (transaction + blockHash).toLowerCase()
  return sha256(`${mined}:${logs.indexOf(transfer)}`, 'hex').slice(0, 32)
}
