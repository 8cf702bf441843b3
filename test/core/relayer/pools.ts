import { privateKeyToAddress } from 'viem/accounts'
import type { Chain } from '../../../src/core/chain/chain.js'
import { RpcChain } from '../../../src/core/chain/chain.js'
import type { Devnet } from '../../../src/tools/devnet/index.js'
import { RelayerPool, type RelayerPoolOptions } from '../../../src/core/relayer/pool.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { findNetwork } from '../../../src/shared/protocol/networks.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { askNode } from '../../support/core.js'
import { newNonce } from '../../support/sign-payment.js'
import { withWrittenCalls, writtenCall, type CallOverrides } from '../../support/written-calls.js'

export type { CallOverrides }

export const ONE_ETHER = 10n ** 18n

/** A call of the token that costs little and goes alone; what is written of it is kept. */
export const callOf = (devnet: Devnet, overrides: CallOverrides = {}) =>
  writtenCall({ call: { to: devnet.asset, data: '0x06fdde03' }, gas: 60_000n }, overrides)

/** A pool of a test. */
export interface TestPool {
  readonly pool: RelayerPool
  readonly chain: Chain
  readonly lows: { readonly relayer: string; readonly balance: bigint }[]
  readonly warnings: string[]
  close(): void
}

/** What a pool of a test is made with. */
export type TestPoolOptions = Partial<RelayerPoolOptions> & { readonly rpcUrl?: string }

/** Makes a pool as a gateway does. */
export function openPool(devnet: Devnet, options: TestPoolOptions): TestPool {
  const closing = new AbortController()
  const network = findNetwork('base-sepolia')!
  const chain = new RpcChain({ network, rpcUrl: options.rpcUrl ?? devnet.rpcUrl })
  const lows: TestPool['lows'] = []
  const warnings: string[] = []
  const note = (message: string): void => void warnings.push(message)
  const pool = new RelayerPool({
    chain,
    privateKeys: [newNonce()],
    logger: { debug: () => undefined, info: () => undefined, warn: note, error: note },
    onFunds: ({ relayer, balance, becameLow }) => {
      if (becameLow) lows.push({ relayer, balance })
    },
    closed: closing.signal,
    ...options,
    ledger: withWrittenCalls(options.ledger ?? createMemoryLedger()),
  })
  return { pool, chain, lows, warnings, close: () => closing.abort() }
}

/** Sets what an account has for gas, in wei. */
export async function fund(devnet: Devnet, address: Hex, balance = ONE_ETHER): Promise<void> {
  await askNode(devnet, 'anvil_setBalance', address, `0x${balance.toString(16)}`)
}

/** Keys of accounts that have not sent anything. */
export async function newKeys(
  devnet: Devnet,
  ...balances: readonly bigint[]
): Promise<[Hex, ...Hex[]]> {
  const keys = balances.map(() => newNonce())
  for (const [index, key] of keys.entries())
    await fund(devnet, privateKeyToAddress(key), balances[index])
  return keys as [Hex, ...Hex[]]
}
