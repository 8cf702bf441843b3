/** Who has signed a message: the key of an account, or a contract account. */
import { keccakHex } from '../../shared/crypto/keccak.js'
import type { Address, Hex } from '../../shared/protocol/payment.js'
import type { SettlementNetwork } from '../schemes/evm/network/settlement-network.js'
import { isApproved, readSignature, unwrapErc6492 } from '../schemes/evm/verify/signature.js'
import { UnprovenLimit, type Bounds } from './unproven-limit.js'

export interface SignedMessage {
  /** CAIP-2. */
  readonly chainId: string
  /** In lower case. */
  readonly account: Address
  readonly message: string
  readonly signature: Hex
}

/**
 * `unknown` if only the account could tell, and no node of its chain is known here; `busy` if too many accounts were
 * asked in this minute.
 */
export type Signer = 'key' | 'contract' | 'nobody' | 'unknown' | 'busy'

/** @param client - Address that it comes from. */
export type CheckSigner = (signed: SignedMessage, client: string) => Promise<Signer>

/**
 * Makes what checks keys here, and asks everybody else at their address (ERC-1271; ERC-6492 with a factory that is
 * allowed). It throws `ChainError` if the account could not be asked.
 *
 * @param most - Questions to contract accounts in a minute: who asks may be nobody.
 */
export function signerCheck(
  openNetworks: () => Promise<readonly SettlementNetwork[]>,
  most: Bounds,
): CheckSigner {
  const limit = new UnprovenLimit(most)
  return async ({ chainId, account, message, signature }, client) => {
    const unwrapped = unwrapErc6492(signature)
    if (unwrapped === undefined) return 'nobody'
    const asked = { account, digest: digestOf(message), ...unwrapped }
    if (typeof (await readSignature(asked)) !== 'string') return 'key'
    const networks = await openNetworks()
    const network = networks.find(({ chain }) => chain.network.caip2 === chainId)
    if (network === undefined) return 'unknown'
    if (limit.tryCount(client) === undefined) return 'busy'
    return (await isApproved(network, asked)) ? 'contract' : 'nobody'
  }
}

/** Hashes a text as EIP-191 signs it. */
function digestOf(message: string): Hex {
  const bytes = Buffer.from(message)
  const prefix = Buffer.from(`\u0019Ethereum Signed Message:\n${bytes.length}`)
  return keccakHex(Buffer.concat([prefix, bytes]))
}
