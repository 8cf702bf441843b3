import type { TypedDataDomain } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../protocol/payment.js'
import type { TypedData } from '../protocol/typed-data.js'

export function signTypedData({ domain, ...typedData }: TypedData, privateKey: Hex): Promise<Hex> {
  const account = privateKeyToAccount(privateKey)
  return account.signTypedData({ ...typedData, domain: domain as TypedDataDomain })
}
