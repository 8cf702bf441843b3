import { decodeFunctionResult, numberToHex } from 'viem/utils'
import { LRUCache } from 'lru-cache'
import { ChainError } from '../errors.js'
import type { Network } from '../protocol/networks.js'
import type { Address } from '../protocol/payment.js'
import { aggregate, MULTICALL3, multicall3Abi } from './abi.js'
import { createBroadcaster } from './broadcast.js'
import type { Call, CallResult, Chain } from './chain.js'
import { createFeeCache } from './fees.js'
import { gather } from './gather.js'
import { createReceiptWatch } from './receipt-watch.js'
import {
  callResult,
  hexFrom,
  membersOf,
  quantityFrom,
  revertFrom,
  unusable,
  unwrap,
} from './rpc-values.js'
import { httpRpc, type Rpc } from './rpc.js'

/** Addresses of which it is remembered whether they have code. */
const CODE_CACHE_ENTRIES = 10_000

/** Milliseconds for which an address is taken for one without code. */
const NO_CODE_MAX_AGE_MS = 600_000

/** Calls that go together in one request: what a node runs within its gas limit for calls. */
const MOST_TOGETHER = 50

/** Options of {@link viemChain}. */
export interface ViemChainOptions {
  readonly network: Network
  /** JSON-RPC over HTTP; never shown in an error. */
  readonly rpcUrl: string
  /** Milliseconds a node is given to answer. @defaultValue 10000 */
  readonly timeoutMs?: number
}

/** A network behind a JSON-RPC node. */
export function viemChain({ network, rpcUrl, timeoutMs }: ViemChainOptions): Chain {
  const rpc = onNetwork(
    httpRpc({ url: rpcUrl, ...(timeoutMs !== undefined && { timeoutMs }) }),
    network,
  )
  const code = new LRUCache<Address, boolean>({ max: CODE_CACHE_ENTRIES })
  const fees = createFeeCache(rpc)
  const receipts = createReceiptWatch(rpc)
  const broadcaster = createBroadcaster({ rpc, receipts, onReceipt: fees.note })

  const call = async ({ from, to, data }: Call): Promise<CallResult> =>
    callResult(await rpc.read('eth_call', [{ ...(from && { from }), to, data }, 'latest']))

  const callMany = async (calls: readonly Call[]): Promise<readonly CallResult[]> => {
    const result = await call({ to: MULTICALL3, data: aggregate(calls) })
    // Where there is no Multicall3, the calls are asked one by one.
    if (!result.ok || result.data === '0x') return Promise.all(calls.map(call))
    return decodeFunctionResult({
      abi: multicall3Abi,
      functionName: 'aggregate3',
      data: result.data,
    }).map(({ success, returnData }) => ({ ok: success, data: returnData }))
  }

  const callTogether = gather<Call, CallResult>({
    most: MOST_TOGETHER,
    async run(calls) {
      const [only] = calls
      if (only !== undefined && calls.length === 1) return [await call(only)]
      const different = new Map(calls.map((one) => [keyOf(one), one]))
      const results = await callMany([...different.values()])
      // What fails in company may do well alone: an earlier one may have spent its money.
      const found = [...different.values()].map(async (one, index) => {
        const result = results[index]
        return result?.ok ? result : call(one)
      })
      const byKey = new Map([...different.keys()].map((key, index) => [key, found[index]]))
      return Promise.all(calls.map((one) => byKey.get(keyOf(one)) ?? call(one)))
    },
  })

  const askingCode = new Map<Address, Promise<boolean>>()
  const askCode = async (address: Address): Promise<boolean> => {
    const found = hexFrom(unwrap(await rpc.read('eth_getCode', [address, 'latest']))) !== '0x'
    code.set(address, found, { ttl: found ? 0 : NO_CODE_MAX_AGE_MS })
    return found
  }

  const getBlockNumber = async (): Promise<bigint> =>
    quantityFrom(unwrap(await rpc.read('eth_blockNumber', [])))

  const countTransactions = async (address: Address, block: string): Promise<number> =>
    Number(quantityFrom(unwrap(await rpc.read('eth_getTransactionCount', [address, block]))))

  return {
    network,
    call,
    callMany,
    callTogether,
    async runCode(data) {
      return callResult(await rpc.read('eth_call', [{ data }, 'latest']))
    },
    async getCode(address) {
      return hexFrom(unwrap(await rpc.read('eth_getCode', [address, 'latest'])))
    },
    async hasCode(address) {
      const known = code.get(address)
      if (known !== undefined) return known
      const asked = askingCode.get(address) ?? askCode(address)
      askingCode.set(address, asked)
      return asked.finally(() => askingCode.delete(address))
    },
    async getBalance(address) {
      return quantityFrom(unwrap(await rpc.read('eth_getBalance', [address, 'latest'])))
    },
    getTransactionCount: (address) => countTransactions(address, 'pending'),
    getMinedCount: (address) => countTransactions(address, 'latest'),
    getBlockNumber,
    async hasTransaction(transaction) {
      return unwrap(await rpc.read('eth_getTransactionByHash', [transaction])) !== null
    },
    async estimateGas({ from, to, data }, offer) {
      const offered = offer && {
        maxFeePerGas: numberToHex(offer.maxFeePerGas),
        maxPriorityFeePerGas: numberToHex(offer.maxPriorityFeePerGas),
      }
      const transaction = { ...(from && { from }), to, data, ...offered }
      const answer = await rpc.read('eth_estimateGas', [transaction])
      if (answer.ok) return quantityFrom(answer.result)
      const { data: revert } = revertFrom(answer.error)
      return { revert }
    },
    getFees: fees.get,
    async findTransactions({ address, topics, blocks }) {
      const latest = await getBlockNumber()
      const first = latest > blocks ? latest - blocks : 0n
      const filter = { address, topics, fromBlock: numberToHex(first), toBlock: 'latest' }
      const logs = unwrap(await rpc.read('eth_getLogs', [filter]))
      if (!Array.isArray(logs)) throw unusable('no list of logs')
      return logs.map((log) => hexFrom(membersOf(log)['transactionHash']))
    },
    broadcast: broadcaster.send,
    broadcastSync: broadcaster.sendSync,
    getReceipt: receipts.get,
    waitForReceipt: receipts.wait,
  }
}

function keyOf({ to, data }: Call): string {
  return to + data
}

/** Asks a node for its chain id before anything else, until it has given the right one. */
function onNetwork(rpc: Rpc, network: Network): Rpc {
  let checked: Promise<void> | undefined
  const check = async (): Promise<void> => {
    const chainId = quantityFrom(unwrap(await rpc.read('eth_chainId', [])))
    if (chainId !== BigInt(network.chainId))
      throw new ChainError(
        'chain_mismatch',
        `The node of ${network.caip2} is on chain ${chainId}; check its rpcUrl.`,
      )
  }
  const checkOnce = (): Promise<void> => {
    checked ??= check().catch((error: unknown) => {
      checked = undefined
      throw error
    })
    return checked
  }
  return {
    ask: (method, params) => checkOnce().then(() => rpc.ask(method, params)),
    read: (method, params) => checkOnce().then(() => rpc.read(method, params)),
  }
}
