/** Nodes that take no requests or no transactions for the moment. */
import { parseTransaction, recoverTransactionAddress, type TransactionSerialized } from 'viem'
import type { Devnet } from '../../src/tools/devnet/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { askNode } from './core.js'
import { type Fault, isSend, type RpcProxy } from './rpc-proxy.js'

/** What a node does with every transaction, until told otherwise. */
export function refuseSends(proxy: RpcProxy, fault: Fault): void {
  proxy.fault = (method) => (isSend(method) ? fault : undefined)
}

/** Refuses every so many-th read, in turn with each of the faults. */
export function refuseReads(proxy: RpcProxy, every: number, faults: readonly Fault[]): void {
  let reads = 0
  proxy.fault = (method) => {
    if (isSend(method) || ++reads % every !== 0) return undefined
    return faults[(reads / every) % faults.length]
  }
}

/** Takes so many pending transactions of each account, as nodes do of EIP-7702 accounts, and no gaps. */
export function limitPending(proxy: RpcProxy, devnet: Devnet, limit: number): void {
  let last: Promise<unknown> = Promise.resolve()
  const judge = async (raw: Hex): Promise<Fault | undefined> => {
    const { nonce = 0 } = parseTransaction(raw)
    const sender = await recoverTransactionAddress({
      serializedTransaction: raw as TransactionSerialized,
    })
    const count = async (block: string): Promise<number> =>
      Number(await askNode<Hex>(devnet, 'eth_getTransactionCount', sender, block))
    const [mined, next] = await Promise.all([count('latest'), count('pending')])
    // One that it has, or that is over.
    if (nonce < next) return undefined
    const refuse = (message: string): Fault => ({ kind: 'refuse', code: -32000, message })
    if (nonce > next) return refuse('gapped-nonce tx from delegated accounts')
    return next - mined < limit
      ? undefined
      : refuse('in-flight transaction limit reached for delegated accounts')
  }
  proxy.fault = (method, [raw]) => {
    if (!isSend(method)) return undefined
    const judged = last.then(() => judge(raw as Hex))
    last = judged.catch(() => undefined)
    return judged
  }
}

/** What an account has sent that was mined: payments, and transactions that only use a nonce. */
export async function minedOf(
  devnet: Devnet,
  account: Hex,
): Promise<{ readonly all: number; readonly empty: number }> {
  const latest = Number(await askNode<Hex>(devnet, 'eth_blockNumber'))
  const mined = { all: 0, empty: 0 }
  const isOurs = (address: Hex | null): boolean => address?.toLowerCase() === account.toLowerCase()
  for (let number = 0; number <= latest; number++) {
    const block = await askNode<{
      readonly transactions: readonly { readonly from: Hex; readonly to: Hex | null }[]
    }>(devnet, 'eth_getBlockByNumber', `0x${number.toString(16)}`, true)
    for (const { from, to } of block.transactions) {
      if (!isOurs(from)) continue
      mined.all++
      if (isOurs(to)) mined.empty++
    }
  }
  return mined
}
