/** Finds the tokens that take approvals by signature (EIP-2612). */
import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem/utils'
import type { Chain } from '../../../chain/chain.js'
import type { CallResult } from '../../../chain/types.js'
import { takesPermit2, type Asset, type DomainName } from '../../../../shared/money/assets.js'
import type { PermitDomains } from '../../../../shared/money/permit-domains.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'
import { domainSeparator } from '../../../../shared/crypto/eip712.js'
import { wordOf } from '../transfer/reads.js'
import { world } from '../../../../shared/world.js'

/**
 * How long to wait until tokens are asked again (ms): after a node that did not answer, and after answers that were all
 * no. A no is never final: a node that is behind does not know the token yet.
 */
const WAIT_MS = { unanswered: 30_000, denied: 600_000 }

const permitAbi = parseAbi([
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function nonces(address owner) view returns (uint256)',
  'function PERMIT_TYPEHASH() view returns (bytes32)',
  'function name() view returns (string)',
  'function version() view returns (string)',
])

/** keccak256 of `Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)`. */
const PERMIT_TYPE = 0x6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c9n

/** OpenZeppelin's, and the usual one of tokens that do not say theirs. */
const USUAL_VERSION = '1'

const NOBODY = `0x${'0'.repeat(40)}` as const

export interface FindPermitsOptions {
  readonly assets: readonly Asset[]
  readonly permits: PermitDomains
  /** @defaultValue {@link WAIT_MS} */
  readonly waitMs?: { readonly unanswered: number; readonly denied: number } | undefined
}

/**
 * Asks the contracts of all tokens that are taken by Permit2, again and again until each has said yes.
 *
 * @param closed - Ends it.
 */
export async function findPermits(
  chain: Pick<Chain, 'callMany'>,
  { assets, permits, waitMs = WAIT_MS }: FindPermitsOptions,
  closed: AbortSignal,
): Promise<void> {
  let left = assets.filter(takesPermit2)
  while (left.length > 0 && !closed.aborted) {
    const results = await Promise.allSettled(left.map((asset) => readPermitDomain(chain, asset)))
    left = left.filter((asset, index) => {
      const result = results[index]
      const domain = result?.status === 'fulfilled' ? result.value : undefined
      if (domain !== undefined) permits.note(asset, domain)
      return domain === undefined
    })
    if (left.length === 0) return
    const isAnswered = results.every(({ status }) => status === 'fulfilled')
    const ms = isAnswered ? waitMs.denied : waitMs.unanswered
    await world.sleep(ms, undefined, { signal: closed, ref: false }).catch(() => undefined)
  }
}

/**
 * Reads the domain of a token's approvals by signature.
 *
 * @returns `undefined` if it takes none, or in another form than EIP-2612's.
 */
export async function readPermitDomain(
  chain: Pick<Chain, 'callMany'>,
  { address, network, eip712 }: Asset,
): Promise<DomainName | undefined> {
  const call = (data: `0x${string}`) => ({ to: lowerHex(address), data })
  const ask = (functionName: 'DOMAIN_SEPARATOR' | 'PERMIT_TYPEHASH' | 'name' | 'version') =>
    call(encodeFunctionData({ abi: permitAbi, functionName }))
  const [separator, nonce, type, name, version] = await chain.callMany([
    ask('DOMAIN_SEPARATOR'),
    call(encodeFunctionData({ abi: permitAbi, functionName: 'nonces', args: [NOBODY] })),
    ask('PERMIT_TYPEHASH'),
    ask('name'),
    ask('version'),
  ])
  const [domain, permit] = [wordOf(separator), wordOf(type)]
  if (domain === undefined || wordOf(nonce) === undefined) return undefined
  if (permit !== undefined && permit !== PERMIT_TYPE) return undefined
  const said = {
    name: textOf(name, 'name') ?? '',
    version: textOf(version, 'version') ?? USUAL_VERSION,
  }
  const token = { chainId: network.chainId, verifyingContract: lowerHex(address) }
  return [eip712, said].find(
    (one) => one && BigInt(domainSeparator({ ...one, ...token })) === domain,
  )
}

function textOf(
  result: CallResult | undefined,
  functionName: 'name' | 'version',
): string | undefined {
  try {
    if (!result?.ok) return undefined
    return decodeFunctionResult({ abi: permitAbi, functionName, data: result.data })
  } catch {
    return undefined
  }
}
