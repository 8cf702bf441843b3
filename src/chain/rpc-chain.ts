import { decodeFunctionResult, numberToHex } from 'viem/utils'
import { LRUCache } from 'lru-cache'
import { ChainError } from '../errors.js'
import type { Network } from '../protocol/networks.js'
import type { Address, Hex } from '../protocol/payment.js'
import { aggregate, MULTICALL3, multicall3Abi } from './abi.js'
import { createBroadcaster } from './broadcast.js'
import type { Call, CallResult, Chain } from './chain.js'
import { createFeeCache } from './fees.js'
import { createReceiptWatch } from './receipt-watch.js'
import { unusable } from './node-errors.js'
import {
  bytesFrom,
  callResult,
  countFrom,
  hexFrom,
  membersOf,
  quantityFrom,
  revertFrom,
  unwrap,
} from './rpc-values.js'
import { httpRpc, type Rpc } from './rpc.js'

/** Addresses of which it is remembered whether they have code. */
const CODE_CACHE_ENTRIES = 10_000

/** Milliseconds for which it is remembered whether an address has code. */
const CODE_MAX_AGE_MS = 600_000

/** The same, where a node said for the first time that it has none. */
const DOUBTFUL_CODE_MS = 2000

/** Least gas of any transaction: what estimates less is no estimate. */
const LEAST_GAS = 21_000n

/** Milliseconds after which a node is asked once more which chain it is on. */
const CHAIN_CHECK_MS = 60_000

/** Options of {@link rpcChain}. */
export interface RpcChainOptions {
  readonly network: Network
  /** JSON-RPC over HTTP; never shown in an error. */
  readonly rpcUrl: string
  /** Milliseconds a node is given to answer. @defaultValue 10000 */
  readonly timeoutMs?: number
}

/** A network behind a JSON-RPC node. */
export function rpcChain({ network, rpcUrl, timeoutMs }: RpcChainOptions): Chain {
  const rpc = onNetwork(
    httpRpc({ url: rpcUrl, ...(timeoutMs !== undefined && { timeoutMs }) }),
    network,
  )
  const code = new LRUCache<Address, boolean>({ max: CODE_CACHE_ENTRIES })
  const hadNoCode = new LRUCache<Address, true>({ max: CODE_CACHE_ENTRIES, ttl: CODE_MAX_AGE_MS })
  const fees = createFeeCache(rpc)
  const receipts = createReceiptWatch(rpc)
  const broadcaster = createBroadcaster({ rpc, receipts, onReceipt: fees.note })

  const call = async ({ from, to, data }: Call): Promise<CallResult> =>
    callResult(await rpc.read('eth_call', [{ ...(from && { from }), to, data }, 'latest']))

  const callMany = async (calls: readonly Call[]): Promise<readonly CallResult[]> => {
    const result = await call({ to: MULTICALL3, data: aggregate(calls) })
    // Where there is no Multicall3, the calls are asked one by one.
    if (!result.ok || result.data === '0x') return Promise.all(calls.map(call))
    const results = decodeResults(result.data)
    if (results.length === calls.length) return results
    throw unusable('fewer results than it was asked for')
  }

  const askingCode = new Map<Address, Promise<boolean>>()
  const askCode = async (address: Address): Promise<boolean> => {
    const found = hexFrom(unwrap(await rpc.read('eth_getCode', [address, 'latest']))) !== '0x'
    // One odd answer is no proof that there is none: it is believed once it was given twice.
    const isDoubtful = !found && !hadNoCode.has(address)
    if (!found) hadNoCode.set(address, true)
    code.set(address, found, { ttl: isDoubtful ? DOUBTFUL_CODE_MS : CODE_MAX_AGE_MS })
    return found
  }

  const getBlockNumber = async (): Promise<bigint> =>
    quantityFrom(unwrap(await rpc.read('eth_blockNumber', [])))

  const countTransactions = async (address: Address, block: string): Promise<number> =>
    countFrom(unwrap(await rpc.read('eth_getTransactionCount', [address, block])))

  return {
    network,
    call,
    callMany,
    async runCode(data) {
      return callResult(await rpc.read('eth_call', [{ data }, 'latest']))
    },
    async getCode(address) {
      return hexFrom(unwrap(await rpc.read('eth_getCode', [address, 'latest'])))
    },
    async hasCode(address, look) {
      const known = look === 'fresh' ? undefined : code.get(address)
      if (known !== undefined) return known
      const asked = askingCode.get(address) ?? askCode(address)
      askingCode.set(address, asked)
      return asked.finally(() => askingCode.delete(address))
    },
    async getBalance(address) {
      return quantityFrom(unwrap(await rpc.read('eth_getBalance', [address, 'latest'])))
    },
    getPendingNonce: (address) => countTransactions(address, 'pending'),
    getMinedNonce: (address) => countTransactions(address, 'latest'),
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
      if (answer.ok) {
        const gas = quantityFrom(answer.result)
        if (gas >= LEAST_GAS) return gas
        throw unusable('less gas than any transaction takes')
      }
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
      return logs.map((log) => bytesFrom(membersOf(log)['transactionHash'], 32))
    },
    broadcast: broadcaster.send,
    broadcastSync: broadcaster.sendSync,
    getReceipt: receipts.get,
    waitForReceipt: receipts.wait,
  }
}

/** What Multicall3 returned. @throws {@link ChainError} where it is something else. */
function decodeResults(data: Hex): readonly CallResult[] {
  try {
    const results = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data })
    return results.map(({ success, returnData }) => ({ ok: success, data: returnData }))
  } catch {
    throw unusable('something that no Multicall3 returns')
  }
}

/**
 * Asks a node for its chain id before anything else, until it has given the right one.
 *
 * Behind one URL there may be another node tomorrow: it is asked again now and then, while requests
 * go on. Once it gives another id, nothing more is asked until it gives the right one.
 */
function onNetwork(rpc: Rpc, network: Network): Rpc {
  let checked: Promise<void> | undefined
  let askAgainAt = Infinity
  const check = async (): Promise<void> => {
    const chainId = quantityFrom(unwrap(await rpc.read('eth_chainId', [])))
    askAgainAt = performance.now() + CHAIN_CHECK_MS
    if (chainId !== BigInt(network.chainId))
      throw new ChainError(
        'chain_mismatch',
        `The node of ${network.caip2} is on chain ${chainId}; check its rpcUrl.`,
      )
  }
  const forget = (): void => {
    checked = undefined
  }
  const checkFirst = (): Promise<void> => {
    checked ??= check().catch((error: unknown) => {
      forget()
      throw error
    })
    return checked
  }
  const checkAgain = (): void => {
    askAgainAt = performance.now() + CHAIN_CHECK_MS
    // A node that does not answer has not said that it is another one.
    check().catch((error: unknown) => {
      if (error instanceof ChainError && error.code === 'chain_mismatch') forget()
    })
  }
  const onceChecked = async <T>(work: () => Promise<T>): Promise<T> => {
    if (performance.now() > askAgainAt) checkAgain()
    await checkFirst()
    return work()
  }
  return {
    ask: (method, params) => onceChecked(() => rpc.ask(method, params)),
    read: (method, params) => onceChecked(() => rpc.read(method, params)),
  }
}
