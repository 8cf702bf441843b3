import { setTimeout as sleep } from 'node:timers/promises'
import { decodeFunctionResult, encodeFunctionData, hexToBigInt, numberToHex } from 'viem'
import { LRUCache } from 'lru-cache'
import { ChainError } from '../errors.js'
import type { Network } from '../protocol/networks.js'
import type { Address, Hex } from '../protocol/payment.js'
import { MULTICALL3, multicall3Abi } from './abi.js'
import type {
  Broadcast,
  Call,
  CallResult,
  Chain,
  Fees,
  Log,
  Receipt,
  RejectionCause,
} from './chain.js'
import { httpRpc, type Rpc, type RpcAnswer, type RpcFailure } from './rpc.js'

/** Milliseconds for which fees are taken from the last look at the chain. */
const FEES_MAX_AGE_MS = 2000

/** Base fees rise by at most an eighth a block; twice the last one holds for about six blocks. */
const BASE_FEE_HEADROOM = 2n

/** Addresses of which it is remembered whether they have code. */
const CODE_CACHE_ENTRIES = 10_000

/** Milliseconds for which an address is taken for one without code. */
const NO_CODE_MAX_AGE_MS = 60_000

/** First and longest wait between two looks for a receipt, in milliseconds. */
const RECEIPT_POLL_MS = { first: 20, longest: 1000 }

/** Times a transaction is handed over again at once when the node's answer was lost. */
const BROADCAST_RETRIES = 1

/** How nodes word that a contract failed, where they do not say so by code 3. */
const CONTRACT_FAILURE =
  /revert|vm execution|out ?of ?gas|gas required exceeds|invalid ?(fe)?opcode|opcode ?not ?found|invalid ?jump|stack ?(under|over)flow|stack limit|write protection/i

/** How nodes word that a transaction offers less than the next block takes. */
const FEE_TOO_LOW = /underpriced|below (current )?base ?fee|less than (block )?base ?fee|fee ?too ?low/i

/** How nodes word that they may have taken a transaction all the same. */
const OUTCOME_IN_DOUBT = /timeout|timed out|deadline|internal error|unavailable|try again/i

/** JSON-RPC's internal error: something broke in the node, nobody knows when. */
const INTERNAL_ERROR = -32603

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
  let fees: { readonly value: Promise<Fees>; readonly at: number } | undefined

  const call = async ({ from, to, data }: Call): Promise<CallResult> =>
    callResult(await rpc.read('eth_call', [{ ...(from && { from }), to, data }, 'latest']))

  const broadcast = async (raw: Hex): Promise<Broadcast> => {
    let lost = false
    for (let attempt = 0; attempt <= BROADCAST_RETRIES; attempt++) {
      try {
        return broadcastOutcome(await rpc.ask('eth_sendRawTransaction', [raw]), lost)
      } catch (error) {
        if (!(error instanceof ChainError)) throw error
        lost = true
      }
    }
    return { outcome: 'unknown' }
  }

  const getBlockNumber = async (): Promise<bigint> =>
    quantityFrom(unwrap(await rpc.read('eth_blockNumber', [])))

  const countTransactions = async (address: Address, block: string): Promise<number> =>
    Number(quantityFrom(unwrap(await rpc.read('eth_getTransactionCount', [address, block]))))

  const getReceipt = async (transaction: Hex): Promise<Receipt | undefined> =>
    receiptFrom(unwrap(await rpc.read('eth_getTransactionReceipt', [transaction])))

  return {
    network,
    call,
    async callMany(calls) {
      const data = encodeFunctionData({
        abi: multicall3Abi,
        functionName: 'aggregate3',
        args: [calls.map((one) => ({ target: one.to, allowFailure: true, callData: one.data }))],
      })
      const result = await call({ to: MULTICALL3, data })
      // Where there is no Multicall3, the calls are asked one by one.
      if (!result.ok || result.data === '0x') return Promise.all(calls.map(call))
      return decodeFunctionResult({
        abi: multicall3Abi,
        functionName: 'aggregate3',
        data: result.data,
      }).map(({ success, returnData }) => ({ ok: success, data: returnData }))
    },
    async hasCode(address) {
      const known = code.get(address)
      if (known !== undefined) return known
      const found = hexFrom(unwrap(await rpc.read('eth_getCode', [address, 'latest']))) !== '0x'
      code.set(address, found, { ttl: found ? 0 : NO_CODE_MAX_AGE_MS })
      return found
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
    async estimateGas({ from, to, data }) {
      const answer = await rpc.read('eth_estimateGas', [{ ...(from && { from }), to, data }])
      if (answer.ok) return quantityFrom(answer.result)
      const { data: revert } = revertFrom(answer.error)
      return { revert }
    },
    getFees(look) {
      const isRecent = fees !== undefined && performance.now() - fees.at < FEES_MAX_AGE_MS
      if (fees !== undefined && isRecent && look !== 'fresh') return fees.value
      const value = readFees(rpc)
      const reading = { value, at: performance.now() }
      fees = reading
      value.catch(() => {
        if (fees === reading) fees = undefined
      })
      return value
    },
    async findTransactions({ address, topics, blocks }) {
      const latest = await getBlockNumber()
      const first = latest > blocks ? latest - blocks : 0n
      const filter = { address, topics, fromBlock: numberToHex(first), toBlock: 'latest' }
      const logs = unwrap(await rpc.read('eth_getLogs', [filter]))
      if (!Array.isArray(logs)) throw unusable('no list of logs')
      return logs.map((log) => hexFrom(membersOf(log)['transactionHash']))
    },
    broadcast,
    getReceipt,
    async waitForReceipt(transactions, patience) {
      const { signal } = patience
      const deadline = performance.now() + patience.timeoutMs
      for (let wait = RECEIPT_POLL_MS.first; ; wait = Math.min(wait * 2, RECEIPT_POLL_MS.longest)) {
        for (const transaction of transactions()) {
          const receipt = await getReceipt(transaction).catch(ignoreChainError)
          if (receipt !== undefined) return receipt
        }
        const left = deadline - performance.now()
        if (left <= 0 || signal.aborted) return undefined
        await sleep(Math.min(wait, left), undefined, { signal }).catch(() => undefined)
      }
    },
  }
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

async function readFees(rpc: Rpc): Promise<Fees> {
  const [block, tip] = await Promise.all([
    rpc.read('eth_getBlockByNumber', ['latest', false]),
    rpc.read('eth_maxPriorityFeePerGas', []),
  ])
  const { baseFeePerGas } = membersOf(unwrap(block))
  // Nodes without eth_maxPriorityFeePerGas take any tip.
  const maxPriorityFeePerGas = tip.ok ? quantityFrom(tip.result) : 0n
  const baseFee = quantityFrom(baseFeePerGas)
  const maxFeePerGas = baseFee * BASE_FEE_HEADROOM + maxPriorityFeePerGas
  return { baseFeePerGas: baseFee, maxPriorityFeePerGas, maxFeePerGas }
}

function ignoreChainError(error: unknown): undefined {
  if (!(error instanceof ChainError)) throw error
}

function callResult(answer: RpcAnswer): CallResult {
  return answer.ok ? { ok: true, data: hexFrom(answer.result) } : revertFrom(answer.error)
}

/** Tells a contract's refusal from a node's failure. */
function revertFrom(error: RpcFailure): CallResult {
  const reverted = error.code === 3 || CONTRACT_FAILURE.test(error.message)
  if (!reverted) throw refused(error)
  return { ok: false, data: isHex(error.data) ? error.data : '0x' }
}

/** @param lost - Whether the node may have taken the transaction at an earlier try. */
function broadcastOutcome(answer: RpcAnswer, lost: boolean): Broadcast {
  if (answer.ok) return { outcome: 'accepted' }
  const { code, message } = answer.error
  if (/already (known|exists|imported)|known transaction/i.test(message))
    return { outcome: 'accepted' }
  // What was refused now may have been taken before, or be taken by the node behind this one.
  if (lost || code === INTERNAL_ERROR || OUTCOME_IN_DOUBT.test(message))
    return { outcome: 'unknown' }
  return { outcome: 'rejected', because: rejectionCause(message) }
}

function rejectionCause(message: string): RejectionCause {
  if (/nonce too low|replacement transaction underpriced/i.test(message))
    return 'stale_transaction_count'
  if (/insufficient funds/i.test(message)) return 'insufficient_gas_funds'
  if (FEE_TOO_LOW.test(message)) return 'fee_too_low'
  return 'other'
}

function receiptFrom(value: unknown): Receipt | undefined {
  if (value === null) return undefined
  const { transactionHash, from, status, blockNumber, logs } = membersOf(value)
  if (!Array.isArray(logs)) throw unusable('a receipt without logs')
  return {
    transaction: hexFrom(transactionHash),
    sender: hexFrom(from),
    succeeded: hexFrom(status) === '0x1',
    blockNumber: quantityFrom(blockNumber),
    logs: logs.map(logFrom),
  }
}

function logFrom(value: unknown): Log {
  const { address, topics, data } = membersOf(value)
  if (!Array.isArray(topics)) throw unusable('a log without topics')
  return { address: hexFrom(address), topics: topics.map(hexFrom), data: hexFrom(data) }
}

function unwrap(answer: RpcAnswer): unknown {
  if (answer.ok) return answer.result
  throw refused(answer.error)
}

function refused({ code, message }: RpcFailure): ChainError {
  return new ChainError('chain_unreachable', 'The node refused a request.', {
    cause: new Error(`${message} (${code})`),
  })
}

function isHex(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value)
}

function hexFrom(value: unknown): Hex {
  if (isHex(value)) return value
  throw unusable('something that is not hexadecimal')
}

function membersOf(value: unknown): { readonly [member: string]: unknown } {
  if (typeof value === 'object' && value !== null) return { ...value }
  throw unusable('something that is not an object')
}

function unusable(what: string): ChainError {
  return new ChainError('chain_unreachable', `The node answered ${what}.`)
}

function quantityFrom(value: unknown): bigint {
  const hex = hexFrom(value)
  return hexToBigInt(hex === '0x' ? numberToHex(0) : hex)
}
