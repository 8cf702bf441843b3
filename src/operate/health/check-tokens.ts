import { decodeFunctionResult, encodeFunctionData } from 'viem/utils'
import { tokenAbi } from '../../core/chain/abi.js'
import type { Chain } from '../../core/chain/chain.js'
import type { CallResult } from '../../core/chain/types.js'
import { takesErc3009, takesPermit2, type Asset } from '../../shared/money/assets.js'
import { domainSeparator } from '../../shared/crypto/eip712.js'
import { wordOf } from '../../core/schemes/evm/transfer/reads.js'
import { checkPermit2 } from './check-permit2.js'
import { failed, fine, findings, type Finding, type Place } from './finding.js'

/** Views of a token, in the order of the calls. */
const VIEWS = ['DOMAIN_SEPARATOR', 'decimals', 'name', 'version'] as const

/** Longest text of a contract that a message repeats. */
const MAX_TEXT = 60

/** Checks that EIP-712 domain and decimals of each token on chain are as configured. */
export async function checkTokens(
  chain: Pick<Chain, 'callMany' | 'getCode'>,
  assets: readonly Asset[],
): Promise<readonly Finding[]> {
  const found = await Promise.all(
    assets.map((asset) => {
      const { address, symbol, network } = asset
      const place = { subject: 'token', network: network.caip2, address, symbol } as const
      return findings(place, async () => {
        const token = await checkToken(chain, asset, place)
        return takesPermit2(asset) ? [token, await checkPermit2(chain, asset, place)] : [token]
      })
    }),
  )
  return found.flat()
}

async function checkToken(
  chain: Pick<Chain, 'callMany' | 'getCode'>,
  asset: Asset,
  place: Place,
): Promise<Finding> {
  const { address, symbol, decimals, network } = asset
  const what = `${symbol} on ${network.name} (${address})`
  const domainName = takesErc3009(asset) ? asset.eip712 : undefined
  const calls = VIEWS.map((functionName) => ({
    to: address,
    data: encodeFunctionData({ abi: tokenAbi, functionName }),
  }))
  const [separator, digits, name, version] = await chain.callMany(calls)
  const actual = wordOf(separator)
  if (actual === undefined && (await chain.getCode(address)) === '0x') {
    const message = `${what}: no contract at this address. Check the address and the network.`
    return failed(place, { code: 'token_missing', message })
  }
  const counted = wordOf(digits)
  if (counted !== undefined && counted !== BigInt(decimals))
    return failed(place, {
      code: 'token_decimals_mismatch',
      message: `${what} has ${counted} decimals, not ${decimals}: amounts would be wrong by powers of ten. Correct \`decimals\`.`,
    })
  if (domainName === undefined) return fine(place, `${what}: ${decimals} decimals.`)
  if (actual === undefined) {
    const message = `${what} does not expose its EIP-712 domain: only the first payment will show whether \`eip712\` is right.`
    return { ...place, status: 'warning', code: 'token_domain_unknown', message }
  }
  const named = `'${domainName.name}', version '${domainName.version}'`
  const domain = { ...domainName, chainId: network.chainId, verifyingContract: address }
  if (actual === BigInt(domainSeparator(domain)))
    return fine(place, `${what}: EIP-712 domain ${named}.`)
  return failed(place, {
    code: 'token_domain_mismatch',
    message: `${what} has another EIP-712 domain than ${named}, so no signature would be valid. Its contract says ${said(name, 'name')}, version ${said(version, 'version')}: correct \`eip712\`.`,
  })
}

/** Quotes a text of a contract, shortened and printable. */
function said(result: CallResult | undefined, functionName: 'name' | 'version'): string {
  try {
    if (!result?.ok) return 'nothing'
    const text = decodeFunctionResult({ abi: tokenAbi, functionName, data: result.data })
    return `'${text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, MAX_TEXT)}'`
  } catch {
    return 'nothing'
  }
}
