/** Asks a wallet to sign a token transfer by Permit2, and the approval that it needs. */
import { callProvider, type Provider } from './provider.js'
import { PERMIT2, PERMIT2_SPENDERS } from '../protocol/contracts.js'
import { DOMAIN_TYPE, field, randomHex, type Transfer } from './sign-transfer.js'

/** By scheme. */
const SPENDERS: Readonly<Record<string, `0x${string}`>> = PERMIT2_SPENDERS

/** A transfer by Permit2. */
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
  const { from, chainId, asset, payTo, amount, extra, validBefore, scheme } = transfer
  const facilitator = scheme === 'upto' ? { facilitator: extra?.['facilitatorAddress'] } : {}
  const nonce = BigInt(`0x${randomHex(32)}`)
  const authorization = {
    permitted: { token: asset, amount },
    spender: SPENDERS[scheme],
    nonce: nonce.toString(),
    deadline: String(validBefore),
    witness: { to: payTo, ...facilitator, validAfter: '0' },
  }
  const signature = await signTypedData(provider, from, {
    domain: { name: 'Permit2', chainId, verifyingContract: PERMIT2 },
    types: {
      EIP712Domain: DOMAIN_TYPE.filter(({ name }) => name !== 'version'),
      PermitWitnessTransferFrom: [
        field('permitted', 'TokenPermissions'),
        field('spender', 'address'),
        field('nonce', 'uint256'),
        field('deadline', 'uint256'),
        field('witness', 'Witness'),
      ],
      TokenPermissions: [field('token', 'address'), field('amount', 'uint256')],
      Witness: [
        field('to', 'address'),
        ...(scheme === 'upto' ? [field('facilitator', 'address')] : []),
        field('validAfter', 'uint256'),
      ],
    },
    primaryType: 'PermitWitnessTransferFrom',
    message: authorization,
  })
  if (signature === undefined) return undefined
  const key = { contract: PERMIT2, nonce: `0x${nonce.toString(16).padStart(64, '0')}` }
  return { payload: { signature, permit2Authorization: { from, ...authorization } }, key }
}

/** A signed approval, as x402 carries it. */
export interface SignedApproval {
  readonly from: string
  readonly asset: string
  readonly spender: string
  readonly amount: string
  readonly nonce: string
  /** Unix seconds. */
  readonly deadline: string
  readonly signature: string
  readonly version: '1'
}

/** Signs an approval of Permit2 (EIP-2612). @returns `undefined` if that is not possible. @throws `ProviderFailure` */
export async function signApproval(
  provider: Provider,
  { from, chainId, asset, amount, extra, validBefore }: Permit2Transfer,
): Promise<SignedApproval | undefined> {
  const nonce = await readWord(provider, asset, NONCES + wordOf(from))
  if (nonce === undefined) return undefined
  const message = {
    ...{ owner: from, spender: PERMIT2, value: amount, nonce: nonce.toString() },
    deadline: String(validBefore),
  }
  const signature = await signTypedData(provider, from, {
    domain: {
      name: extra?.['name'],
      version: extra?.['version'],
      chainId,
      verifyingContract: asset,
    },
    types: {
      EIP712Domain: DOMAIN_TYPE,
      Permit: [
        field('owner', 'address'),
        field('spender', 'address'),
        field('value', 'uint256'),
        field('nonce', 'uint256'),
        field('deadline', 'uint256'),
      ],
    },
    primaryType: 'Permit',
    message,
  })
  if (signature === undefined) return undefined
  const { owner: _owner, value: _value, ...signed } = message
  return { ...signed, from, asset, amount, signature, version: '1' }
}

/** How much Permit2 may take of a token; `undefined` if the wallet does not tell. */
export function readAllowance(
  provider: Provider,
  { from, asset }: Pick<Permit2Transfer, 'from' | 'asset'>,
): Promise<bigint | undefined> {
  return readWord(provider, asset, ALLOWANCE + wordOf(from) + wordOf(PERMIT2))
}

/** Asks the wallet to approve an amount in a transaction. @returns Its hash. @throws `ProviderFailure` */
export async function sendApproval(
  provider: Provider,
  { from, asset, amount }: Pick<Permit2Transfer, 'from' | 'asset' | 'amount'>,
): Promise<string> {
  const data = APPROVE + wordOf(PERMIT2) + BigInt(amount).toString(16).padStart(64, '0')
  return String(await callProvider(provider, 'eth_sendTransaction', [{ from, to: asset, data }]))
}

/** Selectors of `nonces(address)`, `allowance(address,address)` and `approve(address,uint256)`. */
const [NONCES, ALLOWANCE, APPROVE] = ['0x7ecebe00', '0xdd62ed3e', '0x095ea7b3']

const wordOf = (address: string): string => address.slice(2).toLowerCase().padStart(64, '0')

/** Reads a number of a contract; `undefined` if the wallet does not tell. */
export async function readWord(
  provider: Provider,
  to: string,
  data: string,
): Promise<bigint | undefined> {
  const asked = callProvider(provider, 'eth_call', [{ to, data }, 'latest'])
  const result = await asked.catch(() => undefined)
  if (typeof result !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(result)) return undefined
  return BigInt(result)
}

async function signTypedData(
  provider: Provider,
  from: string,
  typedData: object,
): Promise<string | undefined> {
  const params = [from, JSON.stringify(typedData)]
  const signature = await callProvider(provider, 'eth_signTypedData_v4', params)
  return typeof signature === 'string' ? signature : undefined
}
