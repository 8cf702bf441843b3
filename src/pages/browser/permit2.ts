/** Asks a wallet what Permit2 may take of a token, to approve more, and whether the account can pay for that. */
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

type Approval = Holding & { readonly amount: string }

/** Least gas that any approval takes, where the wallet estimates none: that of a transaction with its data. */
const LEAST_GAS = 22_000n

/** Whether an account surely has too little for an approval in a transaction. */
export async function lacksGas(provider: Provider, approval: Approval): Promise<boolean> {
  const held = await readNumber(provider, 'eth_getBalance', [approval.from, 'latest'])
  const price = (await readNumber(provider, 'eth_gasPrice', [])) ?? 1n
  const gas = await readNumber(provider, 'eth_estimateGas', [transactionOf(approval)])
  return held !== undefined && held < price * (gas ?? LEAST_GAS)
}

/** Asks the wallet to approve an amount in a transaction. @returns Its hash. @throws `ProviderFailure` */
export async function sendApproval(provider: Provider, approval: Approval): Promise<string> {
  return String(await callProvider(provider, 'eth_sendTransaction', [transactionOf(approval)]))
}

const transactionOf = ({ from, asset, amount }: Approval) => ({
  from,
  to: asset,
  data: APPROVE + wordOf(PERMIT2) + wordOf(`0x${BigInt(amount).toString(16)}`),
})

/** Selectors of `nonces(address)`, `allowance(address,address)`, `balanceOf(address)` and `approve(address,uint256)`. */
const NONCES = '0x7ecebe00'
const ALLOWANCE = '0xdd62ed3e'
const BALANCE_OF = '0x70a08231'
const APPROVE = '0x095ea7b3'

const wordOf = (hex: string): string => hex.slice(2).toLowerCase().padStart(64, '0')

/** Reads a number of a contract. */
const readWord = (provider: Provider, to: string, data: string) =>
  readNumber(provider, 'eth_call', [{ to, data }, 'latest'])

/** Reads a number; `undefined` if the wallet does not tell. */
async function readNumber(
  provider: Provider,
  method: string,
  params: readonly unknown[],
): Promise<bigint | undefined> {
  const result = await callProvider(provider, method, params).catch(() => undefined)
  if (typeof result !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(result)) return undefined
  return BigInt(result)
}
