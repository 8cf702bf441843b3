/** Asks a wallet what Permit2 may take of a token, and to approve more. */
import { callProvider, type Provider } from './provider.js'
import { PERMIT2 } from '../../shared/protocol/contracts.js'

/** A token, and whose. */
interface Holding {
  readonly from: string
  readonly asset: string
}

/** The account's next nonce of an approval by signature (EIP-2612); `undefined` if the wallet does not tell. */
export const readApprovalNonce = (provider: Provider, { from, asset }: Holding) =>
  readWord(provider, asset, NONCES + wordOf(from))

/** How much Permit2 may take of a token; `undefined` if the wallet does not tell. */
export const readAllowance = (provider: Provider, { from, asset }: Holding) =>
  readWord(provider, asset, ALLOWANCE + wordOf(from) + wordOf(PERMIT2))

/** How much of a token an account has; `undefined` if the wallet does not tell. */
export const readBalance = (provider: Provider, { from, asset }: Holding) =>
  readWord(provider, asset, BALANCE_OF + wordOf(from))

/** Asks the wallet to approve an amount in a transaction. @returns Its hash. @throws `ProviderFailure` */
export async function sendApproval(
  provider: Provider,
  { from, asset, amount }: Holding & { readonly amount: string },
): Promise<string> {
  const data = APPROVE + wordOf(PERMIT2) + wordOf(`0x${BigInt(amount).toString(16)}`)
  return String(await callProvider(provider, 'eth_sendTransaction', [{ from, to: asset, data }]))
}

/** Selectors of `nonces(address)`, `allowance(address,address)`, `balanceOf(address)` and `approve(address,uint256)`. */
const NONCES = '0x7ecebe00'
const ALLOWANCE = '0xdd62ed3e'
const BALANCE_OF = '0x70a08231'
const APPROVE = '0x095ea7b3'

const wordOf = (hex: string): string => hex.slice(2).toLowerCase().padStart(64, '0')

/** Reads a number of a contract; `undefined` if the wallet does not tell. */
async function readWord(provider: Provider, to: string, data: string): Promise<bigint | undefined> {
  const asked = callProvider(provider, 'eth_call', [{ to, data }, 'latest'])
  const result = await asked.catch(() => undefined)
  if (typeof result !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(result)) return undefined
  return BigInt(result)
}
