import { decodeFunctionResult, numberToHex } from 'viem/utils'
import type { Network } from '../protocol/networks.js'
import type { Address, Hex } from '../protocol/payment.js'
import { aggregate, MULTICALL3, multicall3Abi } from './abi.js'
import { Broadcaster } from './broadcaster.js'
import type {
  Block,
  Broadcast,
  Call,
  CallResult,
  Chain,
  EventFilter,
  Fees,
  FeeValues,
  Patience,
  Receipt,
  SignedTransaction,
} from './chain.js'
import { CheckedRpc } from './checked-rpc.js'
import { CodeCache } from './code-cache.js'
import { FeeCache } from './fee-cache.js'
import { unusable } from './node-errors.js'
import { ReceiptWatch } from './receipt-watch.js'
import {
  bytesFrom,
  callResult,
  hexFrom,
  membersOf,
  nonceFrom,
  quantityFrom,
  revertFrom,
  unwrap,
} from './rpc-values.js'
import { HttpRpc, type RequestListener } from './rpc.js'

/** Least gas of any transaction: a lower estimate is none. */
const LEAST_GAS = 21_000n

/** Options of {@link RpcChain}. */
export interface RpcChainOptions {
  readonly network: Network
  /** JSON-RPC over HTTP; never shown in an error. */
  readonly rpcUrl: string
  /** How long the node may take to answer (ms). @defaultValue 10000 */
  readonly timeoutMs?: number | undefined
  /** Watches every request to the node. @defaultValue not watched */
  readonly onRequest?: RequestListener | undefined
}

/** A network behind a JSON-RPC node. */
export class RpcChain implements Chain {
  readonly network: Network
  readonly #rpc: CheckedRpc
  readonly #code: CodeCache
  readonly #fees: FeeCache
  readonly #receipts: ReceiptWatch
  readonly #broadcaster: Broadcaster

  constructor({ network, rpcUrl, timeoutMs, onRequest }: RpcChainOptions) {
    this.network = network
    this.#rpc = new CheckedRpc(new HttpRpc({ url: rpcUrl, timeoutMs, onRequest }), network)
    this.#code = new CodeCache(this.#rpc)
    this.#fees = new FeeCache(this.#rpc)
    this.#receipts = new ReceiptWatch(this.#rpc)
    this.#broadcaster = new Broadcaster({
      rpc: this.#rpc,
      receipts: this.#receipts,
      onReceipt: (receipt) => this.#fees.note(receipt),
    })
  }

  async call({ from, to, data }: Call): Promise<CallResult> {
    const transaction = { to, data, ...(from && { from }) }
    return callResult(await this.#rpc.read('eth_call', [transaction, 'latest']))
  }

  async callMany(calls: readonly Call[]): Promise<readonly CallResult[]> {
    const result = await this.call({ to: MULTICALL3, data: aggregate(calls) })
    // Where there is no Multicall3, the calls are made one by one.
    if (!result.ok || result.data === '0x') return Promise.all(calls.map((call) => this.call(call)))
    const results = decodeResults(result.data)
    if (results.length === calls.length) return results
    throw unusable('fewer results than it was asked for')
  }

  async runCode(code: Hex): Promise<CallResult> {
    return callResult(await this.#rpc.read('eth_call', [{ data: code }, 'latest']))
  }

  async getCode(address: Address): Promise<Hex> {
    return hexFrom(unwrap(await this.#rpc.read('eth_getCode', [address, 'latest'])))
  }

  hasCode(address: Address, freshness?: 'fresh'): Promise<boolean> {
    return this.#code.has(address, freshness)
  }

  async getBalance(address: Address): Promise<bigint> {
    return quantityFrom(unwrap(await this.#rpc.read('eth_getBalance', [address, 'latest'])))
  }

  getPendingNonce(address: Address): Promise<number> {
    return this.#getNonce(address, 'pending')
  }

  getMinedNonce(address: Address): Promise<number> {
    return this.#getNonce(address, 'latest')
  }

  async getBlockNumber(): Promise<bigint> {
    return quantityFrom(unwrap(await this.#rpc.read('eth_blockNumber', [])))
  }

  checkId(): Promise<void> {
    return this.#rpc.checkOnce()
  }

  async getLatestBlock(): Promise<Block> {
    await this.#rpc.checkNow()
    const block = membersOf(unwrap(await this.#rpc.read('eth_getBlockByNumber', ['latest', false])))
    const { number, timestamp } = block
    return { number: quantityFrom(number), timestamp: quantityFrom(timestamp) }
  }

  async hasTransaction(transaction: Hex): Promise<boolean> {
    return unwrap(await this.#rpc.read('eth_getTransactionByHash', [transaction])) !== null
  }

  async estimateGas(
    { from, to, data }: Call,
    fees?: FeeValues,
  ): Promise<bigint | { readonly revert: Hex }> {
    const offered = fees && {
      maxFeePerGas: numberToHex(fees.maxFeePerGas),
      maxPriorityFeePerGas: numberToHex(fees.maxPriorityFeePerGas),
    }
    const transaction = { to, data, ...(from && { from }), ...offered }
    const answer = await this.#rpc.read('eth_estimateGas', [transaction])
    if (!answer.ok) return { revert: revertFrom(answer.error).data }
    const gas = quantityFrom(answer.result)
    if (gas >= LEAST_GAS) return gas
    throw unusable('less gas than any transaction takes')
  }

  getFees(freshness?: 'fresh'): Promise<Fees> {
    return this.#fees.get(freshness)
  }

  async findTransactions({ address, topics, blocks }: EventFilter): Promise<readonly Hex[]> {
    const latest = await this.getBlockNumber()
    const first = latest > blocks ? latest - blocks : 0n
    const filter = { address, topics, fromBlock: numberToHex(first), toBlock: 'latest' }
    const logs = unwrap(await this.#rpc.read('eth_getLogs', [filter]))
    if (!Array.isArray(logs)) throw unusable('no list of logs')
    return logs.map((log) => bytesFrom(membersOf(log)['transactionHash'], 32))
  }

  broadcast(raw: Hex): Promise<Broadcast> {
    return this.#broadcaster.send(raw)
  }

  broadcastSync(signed: SignedTransaction, isAwaited: () => boolean): Promise<Broadcast> {
    return this.#broadcaster.sendSync(signed, isAwaited)
  }

  getReceipt(transaction: Hex): Promise<Receipt | undefined> {
    return this.#receipts.get(transaction)
  }

  waitForReceipt(
    transactions: () => readonly Hex[],
    patience: Patience,
  ): Promise<Receipt | undefined> {
    return this.#receipts.wait(transactions, patience)
  }

  async #getNonce(address: Address, block: 'pending' | 'latest'): Promise<number> {
    return nonceFrom(unwrap(await this.#rpc.read('eth_getTransactionCount', [address, block])))
  }
}

/** What Multicall3 returned. @throws {@link ChainError} when it is something else. */
function decodeResults(data: Hex): readonly CallResult[] {
  try {
    const results = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data })
    return results.map(({ success, returnData }) => ({ ok: success, data: returnData }))
  } catch {
    throw unusable('something that no Multicall3 returns')
  }
}
