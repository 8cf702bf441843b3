/** Asks the merchant's wallet to sign a refund. */
import type { RefundToSign, SessionNetwork, Settlement } from '../api/documents.js'
import {
  callProvider,
  ProviderFailure,
  sameAddress,
  switchChain,
  type Provider,
} from '../../browser/provider.js'

/** Why a wallet does not sign, and the remedy. */
export class WalletError extends Error {}

export interface AskedRefund {
  readonly payment: Settlement
  readonly network: SessionNetwork
  /** Atomic units. */
  readonly amount: bigint
}

/** Asks for the merchant's account. @throws {@link WalletError} if the wallet has another one only. */
export async function findAccount(provider: Provider, { payTo }: Settlement): Promise<string> {
  const accounts = await explained(() => callProvider(provider, 'eth_requestAccounts'))
  const all = Array.isArray(accounts) ? accounts.map(String) : []
  const account = all.find((one) => sameAddress(one, payTo))
  if (account !== undefined) return account
  throw new WalletError(
    `Refunds of this payment come from ${payTo}. Choose that account in the wallet, and allow it for this page; it offered ${all.join(', ') || 'none'}.`,
  )
}

/** Switches the wallet to the payment's chain. @throws {@link WalletError} */
export async function switchTo(provider: Provider, network: SessionNetwork): Promise<void> {
  if (!(await explained(() => switchChain(provider, network.chainId))))
    throw new WalletError(
      `The wallet does not know ${network.name} (chain id ${network.chainId}). Add it there and try again.`,
    )
}

/** Asks for the signature. @throws {@link WalletError} */
export async function signRefund(
  provider: Provider,
  account: string,
  typedData: RefundToSign,
): Promise<string> {
  const params = [account, JSON.stringify(typedData)]
  const signature = await explained(() => callProvider(provider, 'eth_signTypedData_v4', params))
  if (typeof signature === 'string') return signature
  throw new WalletError('The wallet returned no signature.')
}

/** Checks that the document to sign is this refund. @throws {@link WalletError} */
export function checkRefund(
  { domain, message, primaryType }: RefundToSign,
  { payment, network, amount }: AskedRefund,
): void {
  const isAsAsked =
    primaryType === 'TransferWithAuthorization' &&
    domain.chainId === network.chainId &&
    sameAddress(domain.verifyingContract, payment.asset) &&
    sameAddress(message.from, payment.payTo) &&
    sameAddress(message.to, payment.payer) &&
    BigInt(message.value) === amount
  if (!isAsAsked)
    throw new WalletError('The document to sign does not match this refund. Nothing was signed.')
}

/** Explains a failure of the wallet. @throws {@link WalletError} */
async function explained<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    if (error.kind === 'declined')
      throw new WalletError('You declined in the wallet. Nothing was sent.')
    throw new WalletError(`The wallet refused: ${error.message}`)
  }
}
