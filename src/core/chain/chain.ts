import { decodeFunctionResult, numberToHex } from 'viem/utils'
import type { Network } from '../../shared/protocol/networks.js'
import type { Address, Hex } from '../../shared/protocol/payment.js'
import { aggregate, MULTICALL3, multicall3Abi } from './abi.js'
import { Broadcaster } from './broadcaster.js'
import type {
  Block,
  Broadcast,
  Call,
  CallResult,
  EventFilter,
  Fees,
  FeeValues,
  FoundTransaction,
  Patience,
  Receipt,
  SignedTransaction,
} from './types.js'
import { CheckedRpc } from './checked-rpc.js'
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
import { world } from '../../shared/world.js'

/** Least gas of any transaction: a lower estimate is none. */
const LEAST_GAS = 21_000n

/** Blocks between the latest and the first that is asked for its time. */
const FIRST_STEP = 64n

/** How long it is remembered whether there is Multicall3, and a first answer that there is none (ms). */
const MULTICALL_MS = { known: 600_000, doubtful: 2000 }

export interface RpcChainOptions {
  readonly network: Network
  /** JSON-RPC over HTTP; never shown in an error. */
  readonly rpcUrl: string
  /** How long the node may take to answer (ms). @defaultValue 10000 */
  readonly timeoutMs?: number | undefined
  /** Watches every request to the node. @defaultValue not watched */
  readonly onRequest?: RequestListener | undefined
}

export type Chain = Pick<RpcChain, keyof RpcChain>

/**
 * A network behind a JSON-RPC node: the only access to one.
 *
 * Every method throws `ChainError` when the node did not answer, or not usefully. A contract's revert is a
 * returned value, so that no payment is called invalid because a node was down.
 */
export class RpcChain {
  readonly network: Network
  readonly #rpc: CheckedRpc
  readonly #fees: FeeCache
  readonly #receipts: ReceiptWatch
  readonly #broadcaster: Broadcaster
  /** Whether there is Multicall3, until a time by `world.elapsed()`. */
  #multicall: { readonly found: boolean; readonly until: number } | undefined

  constructor({ network, rpcUrl, timeoutMs, onRequest }: RpcChainOptions) {
    this.network = network
    this.#rpc = new CheckedRpc(new HttpRpc({ url: rpcUrl, timeoutMs, onRequest }), network)
    this.#fees = new FeeCache(this.#rpc)
    this.#receipts = new ReceiptWatch(this.#rpc)
    this.#broadcaster = new Broadcaster({
      rpc: this.#rpc,
      receipts: this.#receipts,
      onReceipt: (receipt) => this.#fees.learnFrom(receipt),
    })
  }

  /** Runs one call against a block. @param block - Its number. @defaultValue the latest */
  async call({ from, to, data }: Call, block?: bigint): Promise<CallResult> {
    const transaction = { to, data, ...(from && { from }) }
    const at = block === undefined ? 'latest' : numberToHex(block)
    return callResult(await this.#rpc.read('eth_call', [transaction, at]))
  }

  /** Runs several calls against the same block, in one request. @param block - As for {@link call}. */
  async callMany(calls: readonly Call[], block?: bigint): Promise<readonly CallResult[]> {
    const result = await this.call({ to: MULTICALL3, data: aggregate(calls) }, block)
    // Where there is no Multicall3, the calls are made one by one.
    if (!result.ok || result.data === '0x')
      return Promise.all(calls.map((call) => this.call(call, block)))
    const results = decodeResults(result.data)
    if (results.length === calls.length) return results
    throw unusable('fewer results than it was asked for')
  }

  /**
   * Runs code against the latest block without deploying it, for questions that no contract answers. Not every
   * node supports that: the result may be anything.
   *
   * @param at - The account that runs it. @defaultValue a new one, which it is the creation code of
   */
  async runCode(code: Hex, at?: Address): Promise<CallResult> {
    const parameters = at
      ? [{ to: at, data: '0x' }, 'latest', { [at]: { code } }]
      : [{ data: code }, 'latest']
    return callResult(await this.#rpc.read('eth_call', parameters))
  }

  /** The code at an address now; `0x` when there is none. */
  async getCode(address: Address): Promise<Hex> {
    return hexFrom(unwrap(await this.#rpc.read('eth_getCode', [address, 'latest'])))
  }

  /** Whether the network has Multicall3. Cached. */
  async hasMulticall(): Promise<boolean> {
    const known = this.#multicall
    if (known !== undefined && world.elapsed() < known.until) return known.found
    const found = (await this.getCode(MULTICALL3)) !== '0x'
    // A single odd answer does not prove that there is none: the second one is believed.
    const isDoubtful = !found && known?.found !== false
    const until = world.elapsed() + (isDoubtful ? MULTICALL_MS.doubtful : MULTICALL_MS.known)
    this.#multicall = { found, until }
    return found
  }

  /** The native currency of an account, in wei. */
  async getBalance(address: Address): Promise<bigint> {
    return quantityFrom(unwrap(await this.#rpc.read('eth_getBalance', [address, 'latest'])))
  }

  /** The next account nonce, pending transactions included. */
  getPendingNonce(address: Address): Promise<number> {
    return this.#getNonce(address, 'pending')
  }

  /** The next account nonce, pending transactions excluded. */
  getMinedNonce(address: Address): Promise<number> {
    return this.#getNonce(address, 'latest')
  }

  async getBlockNumber(): Promise<bigint> {
    return quantityFrom(unwrap(await this.#rpc.read('eth_blockNumber', [])))
  }

  /** As {@link CheckedRpc.checkOnce}. */
  checkId(): Promise<void> {
    return this.#rpc.checkOnce()
  }

  /**
   * The latest block of a node that has just said which chain it is on.
   *
   * @throws {@link ChainError} `chain_mismatch` where that is another one.
   */
  async getLatestBlock(): Promise<Block> {
    await this.#rpc.checkNow()
    return this.#getBlock('latest')
  }

  /**
   * The number of the first block that is not older than a time; the one after the latest where all are. Looks
   * from the latest backwards, in ever longer steps.
   *
   * @param seconds - Unix time.
   */
  async findBlockSince(seconds: bigint): Promise<bigint> {
    const latest = await this.#getBlock('latest')
    if (latest.timestamp < seconds) return latest.number + 1n
    const isOlder = async (number: bigint): Promise<boolean> =>
      number < 0n || (await this.#getBlock(numberToHex(number))).timestamp < seconds
    let first = latest.number
    let step = FIRST_STEP
    while (!(await isOlder(first - step))) {
      first -= step
      step *= 4n
    }
    let older = first >= step ? first - step : -1n
    while (first - older > 1n) {
      const middle = (first + older) / 2n
      if (await isOlder(middle)) older = middle
      else first = middle
    }
    return first
  }

  /** What a transaction calls; `undefined` where the node has none, or it creates a contract. */
  async getCall(transaction: Hex): Promise<Call | undefined> {
    const found = unwrap(await this.#rpc.read('eth_getTransactionByHash', [transaction]))
    if (found === null) return undefined
    const { to, input, from } = membersOf(found)
    if (to === null || to === undefined) return undefined
    return { to: bytesFrom(to, 20), data: hexFrom(input), from: bytesFrom(from, 20) }
  }

  /** Whether the node has a transaction, mined or pending. */
  async hasTransaction(transaction: Hex): Promise<boolean> {
    return unwrap(await this.#rpc.read('eth_getTransactionByHash', [transaction])) !== null
  }

  /**
   * Estimates the gas of a call as a transaction; returns the revert data of one that would fail.
   *
   * @param fees - The fees it would be sent with: contracts can read the gas price.
   */
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

  /** Reads the fees to offer now. Cached; `fresh` asks the node. */
  getFees(freshness?: 'fresh'): Promise<Fees> {
    return this.#fees.get(freshness)
  }

  /** The transactions of some blocks that emitted an event, oldest first. */
  async findTransactions(filtered: EventFilter): Promise<readonly FoundTransaction[]> {
    const { address, topics, data, first, last } = filtered
    const blocks = { fromBlock: numberToHex(first), toBlock: numberToHex(last) }
    const filter = { address, topics, ...blocks }
    const logs = unwrap(await this.#rpc.read('eth_getLogs', [filter]))
    if (!Array.isArray(logs)) throw unusable('no list of logs')
    return logs
      .map((log) => membersOf(log))
      .filter((log) => data === undefined || hexFrom(log['data']).toLowerCase() === data)
      .map((log) => ({
        transaction: bytesFrom(log['transactionHash'], 32),
        blockHash: bytesFrom(log['blockHash'], 32),
      }))
  }

  /** Sends a signed transaction. A lost answer is `unknown`, not an error. */
  broadcast(raw: Hex): Promise<Broadcast> {
    return this.#broadcaster.send(raw)
  }

  /** As {@link Broadcaster.sendSync}. */
  broadcastSync(signed: SignedTransaction, isAwaited: () => boolean): Promise<Broadcast> {
    return this.#broadcaster.sendSync(signed, isAwaited)
  }

  getReceipt(transaction: Hex): Promise<Receipt | undefined> {
    return this.#receipts.get(transaction)
  }

  /**
   * Waits for a receipt, even while the node is down.
   *
   * @param transactions - Hashes of which one will be mined; called again at every poll, since a
   * stuck transaction is replaced.
   * @returns `undefined` when the time is over.
   */
  waitForReceipt(
    transactions: () => readonly Hex[],
    patience: Patience,
  ): Promise<Receipt | undefined> {
    return this.#receipts.wait(transactions, patience)
  }

  async #getBlock(at: Hex | 'latest'): Promise<Block> {
    const block = membersOf(unwrap(await this.#rpc.read('eth_getBlockByNumber', [at, false])))
    const { number, timestamp } = block
    return { number: quantityFrom(number), timestamp: quantityFrom(timestamp) }
  }

  async #getNonce(address: Address, block: 'pending' | 'latest'): Promise<number> {
    return nonceFrom(unwrap(await this.#rpc.read('eth_getTransactionCount', [address, block])))
  }
}

/** Decodes the answer of Multicall3. @throws {@link ChainError} when it is something else. */
function decodeResults(data: Hex): readonly CallResult[] {
  try {
    const results = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data })
    return results.map(({ success, returnData }) => ({ ok: success, data: returnData }))
  } catch {
    throw unusable('something that no Multicall3 returns')
  }
}
