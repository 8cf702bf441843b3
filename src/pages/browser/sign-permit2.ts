/** Asks a wallet to sign a token transfer by Permit2, and the approval that it needs. */
import { callProvider, type Provider } from './provider.js'
import { PERMIT2 } from '../../shared/protocol/contracts.js'
import {
  approvalTypedData,
  permit2Authorization,
  permit2TypedData,
  sponsoredApproval,
} from '../../shared/protocol/typed-data.js'
import { randomHex, signTypedData, type Transfer } from './sign-transfer.js'

export interface Permit2Transfer extends Omit<Transfer, 'validAfter'> {
  readonly scheme: string
}

/**
 * Asks for the signature of a transfer with a random nonce. With `upto`, the amount is a maximum.
 *
 * @returns The payload of x402; `undefined` if the wallet returns no signature.
 * @throws `ProviderFailure`
 */
export async function signPermit2(provider: Provider, transfer: Permit2Transfer) {
  const { from, chainId, validBefore: deadline } = transfer
  const nonce = `0x${randomHex(32)}`
  const authorization = permit2Authorization(transfer, { from, nonce: BigInt(nonce), deadline })
  const typedData = permit2TypedData(authorization, chainId)
  const signature = await signTypedData(provider, from, typedData)
  if (signature === undefined) return undefined
  const payload = { signature, permit2Authorization: authorization }
  return { payload, key: { contract: PERMIT2, nonce } }
}

/** A signed approval, as x402 carries it. */
export type SignedApproval = ReturnType<typeof sponsoredApproval>

/** Signs an approval of Permit2 (EIP-2612). @returns `undefined` if that is not possible. @throws `ProviderFailure` */
export async function signApproval(
  provider: Provider,
  { from, chainId, asset, amount, extra, validBefore }: Permit2Transfer,
): Promise<SignedApproval | undefined> {
  const nonce = await readWord(provider, asset, NONCES + wordOf(from))
  if (nonce === undefined) return undefined
  const deadline = String(validBefore)
  const approval = { from, asset, amount, nonce: nonce.toString(), deadline }
  const domain = { name: extra?.['name'], version: extra?.['version'], chainId }
  const signature = await signTypedData(provider, from, approvalTypedData(approval, domain))
  return signature === undefined ? undefined : sponsoredApproval(approval, signature)
}

/** How much Permit2 may take of a token; `undefined` if the wallet does not tell. */
export function readAllowance(
  provider: Provider,
  { from, asset }: Pick<Permit2Transfer, 'from' | 'asset'>,
): Promise<bigint | undefined> {
  return readWord(provider, asset, ALLOWANCE + wordOf(from) + wordOf(PERMIT2))
}

/** How much of a token an account has; `undefined` if the wallet does not tell. */
export function readBalance(
  provider: Provider,
  { from, asset }: Pick<Permit2Transfer, 'from' | 'asset'>,
): Promise<bigint | undefined> {
  return readWord(provider, asset, BALANCE_OF + wordOf(from))
}

/** Asks the wallet to approve an amount in a transaction. @returns Its hash. @throws `ProviderFailure` */
export async function sendApproval(
  provider: Provider,
  { from, asset, amount }: Pick<Permit2Transfer, 'from' | 'asset' | 'amount'>,
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
