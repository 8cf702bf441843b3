/** Pays back by the API, signed with the merchant's key. */
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../src/shared/protocol/payment.js'

/** Sends a request of whoever refunds. @returns The document that answers it. */
type Ask = (method: string, path: string, body?: object) => Promise<unknown>

interface RefundOptions {
  /** Path of the settlement's refunds, below what `ask` asks. */
  readonly path: string
  readonly privateKey: Hex
  /** Atomic units. @defaultValue all that is left */
  readonly amount?: bigint
  readonly reason?: string
}

export async function refund(ask: Ask, options: RefundOptions): Promise<void> {
  const { path, privateKey, amount, reason } = options
  const query = amount === undefined ? '' : `?amount=${amount}`
  const { typedData } = (await ask('GET', `${path}/prepare${query}`)) as Prepared
  const signature = await privateKeyToAccount(privateKey).signTypedData(typedData)
  await ask('POST', path, {
    ...{ authorization: typedData.message, signature },
    ...(reason !== undefined && { reason }),
  })
}

interface Prepared {
  readonly typedData: Parameters<ReturnType<typeof privateKeyToAccount>['signTypedData']>[0]
}
