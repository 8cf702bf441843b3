/** A JSON-RPC node: what it knows of the chain, in geth's words. It may lag, refuse, forget, and be away. */
import { transferProbeCode } from '../../src/core/chain/transfer-probe-code.js'
import { AUTHORIZATION_USED, callsIn, TRANSFER, word } from '../../src/core/chain/abi.js'
import { keccakHex } from '../../src/shared/crypto/keccak.js'
import { MULTICALL3, PERMIT2, PERMIT2_SPENDERS } from '../../src/shared/protocol/contracts.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { TIP, TOKEN, type Block, type Calling, type Chain, type Mined } from './chain.js'
import { approvalOf } from './signing.js'

/** Domain separator of USDC on Base Sepolia, as its contract returns it. */
const SEPARATOR = '71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818'

const CODE = '0x60016001'

const NOBODY = `0x${'0'.repeat(40)}`

const SELECTORS = {
  balanceOf: '0x70a08231',
  authorizationState: '0xe94a0102',
  separator: '0x3644e515',
  clock: '0x0f28c97d',
  nonceBitmap: '0x4fe02b44',
  allowance: '0xdd62ed3e',
  isValidSignature: '0x1626ba7e',
} as const

const SPENDERS: ReadonlySet<string> = new Set(Object.values(PERMIT2_SPENDERS).map(lower))

/** What Permit2 may take of everybody's tokens, and gas of a transfer that runs the code of its payer. */
const ALLOWANCE = 10n ** 30n
const GAS_WITH_CODE = 120_000

/** What a node answers: a result, or an error. */
export type Answer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: string } }

interface Asked {
  readonly to?: string
  readonly from?: string
  readonly data?: string
}

/** Of `eth_call`: with the code that an account has for the time of the call. */
type Parameters = readonly [
  asked: Asked,
  at: string,
  placed?: Readonly<Record<string, { readonly code: string }>>,
]

interface Filter {
  readonly address: string
  readonly topics: readonly (string | readonly string[] | null)[]
  readonly fromBlock: string
  readonly toBlock: string
}

export class Node {
  /** Blocks that it is behind. */
  lag = 0
  readonly #chain: Chain
  readonly #secondsNow: () => number
  readonly #wallets: ReadonlySet<string>

  /** @param wallets - Accounts with code. */
  constructor(chain: Chain, wallets: ReadonlySet<string>, secondsNow: () => number) {
    this.#chain = chain
    this.#wallets = wallets
    this.#secondsNow = secondsNow
  }

  #hasCode(address: string): boolean {
    return (
      [TOKEN, lower(MULTICALL3), lower(PERMIT2)].includes(address) ||
      SPENDERS.has(address) ||
      this.#wallets.has(address)
    )
  }

  #estimate({ from = NOBODY, to = NOBODY, data = '0x' }: Asked): Answer {
    const called = lower(to)
    const gas = 21_000 + 16 * (data.length / 2 - 1)
    if (called !== TOKEN && !SPENDERS.has(called)) return quantity(gas)
    const moved = this.#wouldMove({ from: lower(from), to: called, data }, this.#head)
    return moved === undefined
      ? failure(3, 'execution reverted', '0x')
      : quantity(gas + GAS_WITH_CODE)
  }

  #wouldMove(call: Calling, head: number): bigint | undefined {
    return this.#chain.wouldMove(call, head, this.#secondsNow())
  }

  get #head(): number {
    return Math.max(0, this.#chain.head - this.lag)
  }

  answer(method: string, params: readonly unknown[]): Answer {
    const chain = this.#chain
    switch (method) {
      case 'eth_chainId':
        return { result: '0x14a34' }
      case 'eth_blockNumber':
        return quantity(this.#head)
      case 'eth_getBlockByNumber':
        return { result: this.#block(params[0] as string) }
      case 'eth_maxPriorityFeePerGas':
        return quantity(TIP)
      case 'eth_getBalance':
        return quantity(chain.ether(lower(params[0]), this.#head))
      case 'eth_getCode':
        return { result: this.#hasCode(lower(params[0])) ? CODE : '0x' }
      case 'eth_getTransactionCount':
        return quantity(this.#nonce(lower(params[0]), params[1] === 'pending'))
      case 'eth_call':
        return this.#call(params as Parameters)
      case 'eth_estimateGas':
        return this.#estimate(params[0] as Asked)
      case 'eth_sendRawTransaction':
        return this.#send(params[0] as Hex)
      case 'eth_getTransactionReceipt':
        return { result: this.#receipt(lower(params[0])) }
      case 'eth_getTransactionByHash':
        return { result: this.#transaction(lower(params[0])) }
      case 'eth_getLogs':
        return { result: this.#logs(params[0] as Filter) }
      default:
        return failure(-32601, `the method ${method} does not exist/is not available`)
    }
  }

  #nonce(account: string, withPending: boolean): number {
    let next = this.#chain.nonce(account, this.#head)
    if (!withPending) return next
    const waiting = new Set<number>()
    for (const one of this.#chain.pool.values()) if (one.from === account) waiting.add(one.nonce)
    while (waiting.has(next)) next++
    return next
  }

  #send(raw: Hex): Answer {
    const transaction = this.#chain.read(raw)
    const refusal = this.#chain.refusalOf(transaction)
    return refusal === undefined ? { result: transaction.hash } : failure(-32000, refusal)
  }

  #block(at: string): object | null {
    const number = at === 'latest' ? this.#head : Number(at)
    const block = number <= this.#head ? this.#chain.blocks[number] : undefined
    if (block === undefined) return null
    return {
      number: hex(block.number),
      hash: block.hash,
      timestamp: hex(block.timestamp),
      baseFeePerGas: hex(block.baseFee),
      transactions: block.mined.map(({ transaction }) => transaction.hash),
    }
  }

  #found(hash: string): Mined | undefined {
    const mined = this.#chain.find(hash)
    return mined !== undefined && mined.block.number <= this.#head ? mined : undefined
  }

  #transaction(hash: string): object | null {
    const transaction = this.#found(hash)?.transaction ?? this.#chain.pool.get(hash)
    if (transaction === undefined) return null
    return { hash, from: transaction.from, to: transaction.to, input: transaction.data }
  }

  #receipt(hash: string): object | null {
    const mined = this.#found(hash)
    if (mined === undefined) return null
    const { transaction, block, succeeded, gasUsed, logs } = mined
    return {
      transactionHash: hash,
      from: transaction.from,
      to: transaction.to,
      status: succeeded ? '0x1' : '0x0',
      blockNumber: hex(block.number),
      blockHash: block.hash,
      gasUsed: hex(gasUsed),
      effectiveGasPrice: hex(block.baseFee + TIP),
      logs: logs.map((log) => ({ ...log, ...placeOf(hash, block) })),
    }
  }

  #logs(filter: Filter): readonly object[] {
    const last = Math.min(Number(filter.toBlock), this.#head)
    const [topic, payer, nonce] = filter.topics.map((one) => [one].flat()[0])
    if (topic === TRANSFER) return this.#transfers(filter, last)
    // An authorization is used once: its place is known.
    if (topic === AUTHORIZATION_USED && typeof payer === 'string' && typeof nonce === 'string') {
      const use = this.#chain.useOf(`0x${payer.slice(26)}`.toLowerCase(), nonce, last)
      const mined = use && this.#chain.find(use.transaction)
      if (mined === undefined || mined.block.number < Number(filter.fromBlock)) return []
      return mined.logs
        .filter(({ topics }) => topics[0] === topic && topics[2] === nonce)
        .map((log) => ({ ...log, ...placeOf(mined.transaction.hash, mined.block) }))
    }
    throw new Error(`The simulated node has no index for these topics: ${JSON.stringify(filter)}`)
  }

  /** Transfers between two accounts. */
  #transfers({ fromBlock, topics }: Filter, last: number): readonly object[] {
    const wanted = topics.map((one) => String([one].flat()[0]).toLowerCase())
    return this.#chain.blocks
      .slice(Number(fromBlock), last + 1)
      .flatMap((block) =>
        block.mined.flatMap(({ logs, transaction }) =>
          logs
            .filter((log) => wanted.every((topic, index) => log.topics[index] === topic))
            .map((log) => ({ ...log, ...placeOf(transaction.hash, block) })),
        ),
      )
  }

  #call([{ from = NOBODY, to, data = '0x' }, at, placed]: Parameters): Answer {
    const head = at === 'latest' ? this.#head : Math.min(Number(at), this.#head)
    if (to === undefined) return this.#probe(data, NOBODY, head)
    const code = placed?.[to]?.code
    if (code !== undefined) return this.#probe(code, lower(to), head)
    if (lower(to) === lower(MULTICALL3)) return this.#aggregate(data, head)
    const result = this.#read({ from: lower(from), to: lower(to), data }, head)
    return result === undefined ? failure(3, 'execution reverted', '0x') : { result: `0x${result}` }
  }

  /** What a contract returns, without 0x; `undefined` if it reverts. */
  #read(call: Calling, head: number): string | undefined {
    const { to, data } = call
    const selector = data.slice(0, 10)
    const argument = (index: number): string => data.slice(10 + 64 * index, 74 + 64 * index)
    const account = `0x${argument(0).slice(24)}`
    if (to === lower(MULTICALL3) && selector === SELECTORS.clock)
      return word(this.#chain.blocks[head]!.timestamp)
    if (selector === SELECTORS.isValidSignature && this.#wallets.has(to)) {
      const bytes = data.slice(10 + 64 * 3, 10 + 64 * 6)
      const isOwn = `0x${bytes}` === approvalOf(`0x${argument(0)}`)
      return (isOwn ? selector : '0xffffffff').slice(2).padEnd(64, '0')
    }
    if (to === lower(PERMIT2) && selector === SELECTORS.nonceBitmap)
      return word(this.#chain.nonceBitmap(account, argument(1), head))
    if (to !== TOKEN && !SPENDERS.has(to)) return ''
    switch (selector) {
      case SELECTORS.balanceOf:
        return word(this.#chain.balance(account, head))
      case SELECTORS.authorizationState:
        return word(this.#chain.useOf(account, `0x${argument(1)}`, head) === undefined ? 0 : 1)
      case SELECTORS.separator:
        return SEPARATOR
      case SELECTORS.allowance:
        return word(ALLOWANCE)
      default:
        return this.#wouldMove(call, head) === undefined ? undefined : ''
    }
  }

  #aggregate(data: string, head: number): Answer {
    if (data.startsWith(SELECTORS.clock))
      return { result: `0x${word(this.#chain.blocks[head]!.timestamp)}` }
    const calls = callsIn({ to: MULTICALL3, data: data as Hex }, [])
    const from = lower(MULTICALL3)
    const results = calls.map(({ to, data: asked }) =>
      this.#read({ from, to: lower(to), data: asked }, head),
    )
    // (bool success, bytes returnData)[], by the rules of the ABI.
    let offset = 32 * results.length
    const heads: string[] = []
    const tails: string[] = []
    for (const result of results) {
      const bytes = (result ?? '').length / 2
      const padded = (result ?? '').padEnd(64 * Math.ceil(bytes / 32), '0')
      const tail = word(result === undefined ? 0 : 1) + word(64) + word(bytes) + padded
      heads.push(word(offset))
      tails.push(tail)
      offset += tail.length / 2
    }
    return { result: `0x${word(32)}${word(results.length)}${heads.join('')}${tails.join('')}` }
  }

  /** Does what the probe of transfers does, in its own words. */
  #probe(code: string, from: string, head: number): Answer {
    if (!code.startsWith(transferProbeCode)) return failure(3, 'execution reverted', '0x')
    let at = transferProbeCode.length
    const take = (bytes: number): string => code.slice(at, (at += 2 * bytes))
    const words: string[] = []
    while (at < code.length) {
      const to = `0x${take(20)}`
      take(20)
      const [payer, payee] = [`0x${take(20)}`, `0x${take(20)}`]
      const data = `0x${take(Number(`0x${take(2)}`))}`
      const isWallet = this.#wallets.has(payer)
      const moved = isWallet ? undefined : this.#wouldMove({ from, to, data }, head)
      const ran = isWallet ? 0 : moved === undefined ? 1 : 2
      const value = moved ?? 0n
      const balances = [
        this.#chain.balance(payer, head) - value,
        this.#chain.balance(payee, head) + value,
      ]
      const codeHash = isWallet ? keccakHex(CODE).slice(2) : word(0)
      words.push(word(ran), codeHash, word(60_000), ...[...balances, ALLOWANCE].map(word))
      words.push(word(8000))
    }
    return { result: `0x${words.join('')}` }
  }
}

function placeOf(hash: string, block: Block) {
  return { transactionHash: hash, blockHash: block.hash, blockNumber: hex(block.number) }
}

function failure(code: number, message: string, data?: string): Answer {
  return { error: { code, message, ...(data !== undefined && { data }) } }
}

function lower(text: unknown): string {
  return String(text).toLowerCase()
}

const hex = (value: number | bigint): string => `0x${value.toString(16)}`
const quantity = (value: number | bigint): Answer => ({ result: hex(value) })
