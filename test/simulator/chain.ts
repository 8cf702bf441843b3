/**
 * A chain as its contracts and its consensus make it: blocks, balances, ERC-3009, Multicall3, and reorganisations that
 * undo blocks. Signatures are not computed here: an authorization is good if its buyer has signed these very words.
 */
import { parseTransaction, serializeTransaction, type TransactionSerializableEIP1559 } from 'viem'
import { nativeRecovery } from '../../src/shared/crypto/native-secp256k1.js'
import { keccakHex } from '../../src/shared/crypto/keccak.js'
import { MULTICALL3 } from '../../src/shared/protocol/contracts.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import {
  addressWord,
  AUTHORIZATION_USED,
  callsIn,
  isAllOrNothing,
  TRANSFER,
  word,
} from '../../src/core/chain/abi.js'

export const TOKEN = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'

/** Blocks that a reorganisation may undo, and that state is kept of. */
const DEEPEST = 40

/** `transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)` */
export const TRANSFER_BY_KEY = '0xe3ee160e'

const GAS = { base: 21_000n, transfer: 60_000n }

/** What a node suggests above the base fee (wei). */
export const TIP = 100_000_000n

/** A value, by the block that wrote it: reorganisations and nodes that lag go back. */
export class History<Value> {
  readonly #written: [block: number, value: Value][] = []

  at(block: number): Value | undefined {
    for (let index = this.#written.length - 1; index >= 0; index--)
      if (this.#written[index]![0] <= block) return this.#written[index]![1]
    return undefined
  }

  write(block: number, value: Value): void {
    const last = this.#written.at(-1)
    if (last?.[0] === block) last[1] = value
    else this.#written.push([block, value])
    if (this.#written.length > 8 && this.#written[1]![0] < block - DEEPEST) this.#written.shift()
  }

  /** Forgets what later blocks wrote. */
  undo(block: number): void {
    while ((this.#written.at(-1)?.[0] ?? -1) > block) this.#written.pop()
  }
}

export interface Log {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
}

export interface Transaction {
  readonly hash: Hex
  readonly from: string
  readonly nonce: number
  readonly to: string
  readonly data: Hex
  readonly gas: bigint
  readonly maxFee: bigint
}

export interface Mined {
  readonly transaction: Transaction
  readonly block: Block
  readonly succeeded: boolean
  readonly gasUsed: bigint
  readonly logs: readonly Log[]
}

export interface Block {
  readonly number: number
  readonly hash: Hex
  /** Unix time in seconds. */
  readonly timestamp: number
  /** Wei per gas. */
  readonly baseFee: bigint
  readonly mined: Mined[]
}

/** What a buyer has signed, by its nonce. */
export interface Signed {
  readonly from: string
  readonly to: string
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: string
  /** `v`, `r` and `s` as calldata has them. */
  readonly signature: string
}

export class Chain {
  readonly blocks: Block[] = []
  readonly pool = new Map<string, Transaction>()
  readonly #balances = new Map<string, History<bigint>>()
  readonly #ether = new Map<string, History<bigint>>()
  readonly #nonces = new Map<string, History<number>>()
  readonly #uses = new Map<string, History<string>>()
  readonly #mined = new Map<string, Mined>()
  readonly #signed: ReadonlyMap<string, Signed>
  /** What changed in the last blocks, so that it can be undone. */
  #changed: { readonly block: number; readonly history: { undo(block: number): void } }[] = []
  #forks = 0
  /** Until when no block is made, in simulated time (ms). */
  stalledUntil = 0
  /** Wei per gas, of the next blocks. */
  baseFee = 900_000_000n
  transfers = 0
  /** Nonces of transfers that some block had, undone or not. */
  readonly everUsed = new Set<string>()

  constructor(signed: ReadonlyMap<string, Signed>) {
    this.#signed = signed
    this.blocks.push({
      number: 0,
      hash: `0x${word(0)}`,
      timestamp: 0,
      baseFee: this.baseFee,
      mined: [],
    })
  }

  get head(): number {
    return this.blocks.length - 1
  }

  balance(account: string, block = this.head): bigint {
    return this.#balances.get(account)?.at(block) ?? 0n
  }

  ether(account: string, block = this.head): bigint {
    return this.#ether.get(account)?.at(block) ?? 0n
  }

  nonce(account: string, block = this.head): number {
    return this.#nonces.get(account)?.at(block) ?? 0
  }

  /** The transaction that used an authorization. */
  useOf(payer: string, nonce: string, block = this.head): string | undefined {
    return this.#uses.get(payer + nonce)?.at(block)
  }

  find(hash: string): Mined | undefined {
    return this.#mined.get(hash)
  }

  /** Writes before the first block. */
  endow(account: string, { token = 0n, ether = 0n }: { token?: bigint; ether?: bigint }): void {
    if (token > 0n) this.#write(this.#balances, account, token)
    if (ether > 0n) this.#write(this.#ether, account, ether)
  }

  read(raw: Hex): Transaction {
    const parsed = parseTransaction(raw as `0x02${string}`)
    return {
      hash: keccakHex(raw),
      from: senderOf(parsed),
      nonce: parsed.nonce ?? 0,
      to: (parsed.to ?? '0x').toLowerCase(),
      data: parsed.data ?? '0x',
      gas: parsed.gas ?? 0n,
      maxFee: parsed.maxFeePerGas ?? 0n,
    }
  }

  /** Why the pool refuses a transaction, in geth's words. */
  refusalOf(transaction: Transaction): string | undefined {
    const { hash, from, nonce, gas, maxFee } = transaction
    if (this.pool.has(hash) || this.#mined.has(hash)) return 'already known'
    if (nonce < this.nonce(from)) return 'nonce too low'
    if (this.ether(from) < gas * maxFee) return 'insufficient funds for gas * price + value'
    const same = [...this.pool.values()].find((one) => one.from === from && one.nonce === nonce)
    if (same !== undefined && maxFee * 10n < same.maxFee * 11n)
      return 'replacement transaction underpriced'
    if (same !== undefined) this.pool.delete(same.hash)
    this.pool.set(hash, transaction)
    return undefined
  }

  /** Makes a block of what the pool has and pays its base fee, in the order of each account's nonces. */
  mine(timestamp: number): Block {
    const number = this.blocks.length
    const hash = `0x${word(number).slice(8)}${word(this.#forks).slice(56)}` as Hex
    const block: Block = { number, hash, timestamp, baseFee: this.baseFee, mined: [] }
    this.blocks.push(block)
    const waiting = [...this.pool.values()].toSorted((one, other) => one.nonce - other.nonce)
    for (const transaction of waiting) {
      const next = this.nonce(transaction.from)
      if (transaction.nonce === next && transaction.maxFee < block.baseFee) continue
      if (transaction.nonce <= next) this.pool.delete(transaction.hash)
      if (transaction.nonce === next) block.mined.push(this.#execute(transaction, block))
    }
    while ((this.#changed[0]?.block ?? Infinity) < number - DEEPEST) this.#changed.shift()
    return block
  }

  /** Undoes blocks. @param keeps - Whether a transaction of theirs is mined again. */
  reorganise(depth: number, keeps: () => boolean): void {
    const left = Math.max(0, this.head - Math.min(depth, DEEPEST))
    const undone = this.blocks.splice(left + 1)
    this.#forks++
    for (const { block, history } of this.#changed) if (block > left) history.undo(left)
    this.#changed = this.#changed.filter(({ block }) => block <= left)
    for (const { mined } of undone)
      for (const { transaction, logs } of mined) {
        this.#mined.delete(transaction.hash)
        this.transfers -= logs.filter(({ topics }) => topics[0] === TRANSFER).length
        if (keeps()) this.pool.set(transaction.hash, transaction)
      }
  }

  /** Whether a call would do what it says, in the state of a block. */
  wouldTransfer(data: string, block: number, timestamp: number): boolean {
    const signed = this.#readTransfer(data)
    return signed !== undefined && this.#refuses(signed, block, timestamp) === undefined
  }

  #refuses(signed: Signed, block: number, timestamp: number): string | undefined {
    const { from, value, validAfter, validBefore, nonce } = signed
    if (BigInt(timestamp) <= validAfter) return 'FiatTokenV2: authorization is not yet valid'
    if (BigInt(timestamp) >= validBefore) return 'FiatTokenV2: authorization is expired'
    if (this.useOf(from, nonce, block) !== undefined)
      return 'FiatTokenV2: authorization is used or canceled'
    if (this.balance(from, block) < value) return 'ERC20: transfer amount exceeds balance'
    return undefined
  }

  /** What a call moves: only what its payer has signed. */
  #readTransfer(data: string): Signed | undefined {
    if (!data.startsWith(TRANSFER_BY_KEY)) return undefined
    const words = data.slice(10)
    const at = (index: number): string => words.slice(64 * index, 64 * index + 64)
    const signed = this.#signed.get(`0x${at(5)}`)
    const isSigned =
      signed !== undefined &&
      `0x${at(0).slice(24)}` === signed.from &&
      `0x${at(1).slice(24)}` === signed.to &&
      BigInt(`0x${at(2)}`) === signed.value &&
      BigInt(`0x${at(3)}`) === signed.validAfter &&
      BigInt(`0x${at(4)}`) === signed.validBefore &&
      words.slice(64 * 6, 64 * 9) === signed.signature
    return isSigned ? signed : undefined
  }

  #execute(transaction: Transaction, block: Block): Mined {
    const { from, to, data } = transaction
    this.#write(this.#nonces, from, transaction.nonce + 1)
    const calls = callsIn({ to: to as Hex, data }, [])
    const logs: Log[] = []
    let failed = 0
    for (const call of calls)
      if (call.to.toLowerCase() !== TOKEN || !this.#transfer(call.data, transaction, block, logs))
        failed++
    const isList = to === MULTICALL3.toLowerCase() && !isAllOrNothing({ to: to as Hex, data })
    const succeeded = isList || failed === 0
    const gasUsed = GAS.base + GAS.transfer * BigInt(calls.length)
    this.#write(this.#ether, from, this.ether(from) - gasUsed * (block.baseFee + TIP))
    const mined = { transaction, block, succeeded, gasUsed, logs: succeeded ? logs : [] }
    this.#mined.set(transaction.hash, mined)
    return mined
  }

  #transfer(data: string, { hash }: Transaction, block: Block, logs: Log[]): boolean {
    const signed = this.#readTransfer(data)
    if (signed === undefined) return false
    if (this.#refuses(signed, block.number, block.timestamp) !== undefined) return false
    const { from, to, value, nonce } = signed
    this.#write(this.#balances, from, this.balance(from) - value)
    this.#write(this.#balances, to, this.balance(to) + value)
    this.#write(this.#uses, from + nonce, hash)
    const [payer, payee] = [addressWord(from as Hex), addressWord(to as Hex)]
    logs.push(
      { address: TOKEN, topics: [AUTHORIZATION_USED, `0x${payer}`, nonce], data: '0x' },
      { address: TOKEN, topics: [TRANSFER, `0x${payer}`, `0x${payee}`], data: `0x${word(value)}` },
    )
    this.transfers++
    this.everUsed.add(nonce)
    return true
  }

  #write<Value>(all: Map<string, History<Value>>, key: string, value: Value): void {
    let history = all.get(key)
    if (history === undefined) all.set(key, (history = new History()))
    history.write(this.head, value)
    this.#changed.push({ block: this.head, history })
  }
}

const recover = nativeRecovery()

/** Who has signed a transaction. */
function senderOf({ r, s, yParity, ...unsigned }: TransactionSerializableEIP1559): string {
  if (recover === undefined) throw new Error('The simulator needs the optional package secp256k1.')
  const digest = Buffer.from(keccakHex(serializeTransaction(unsigned)).slice(2), 'hex')
  const rs = Buffer.from(word(BigInt(r!)) + word(BigInt(s!)), 'hex')
  const key = recover({ digest, rs, yParity: yParity === 1 ? 1 : 0 })
  if (key === undefined) throw new Error('Nobody can have signed this transaction.')
  return `0x${keccakHex(key.subarray(1)).slice(-40)}`
}
