/**
 * A chain as its contracts and its consensus make it: blocks, balances, ERC-3009, Permit2 with the spenders of x402,
 * Multicall3, and reorganisations that undo blocks. Signatures are not computed here: a call is good if its payer has
 * signed these very words.
 */
import {
  parseTransaction,
  serializeTransaction,
  toEventSelector,
  type TransactionSerializableEIP1559,
} from 'viem'
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

/** What both spenders of x402 log once they have moved something. */
const SETTLED = toEventSelector('Settled()')

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

/** What a payer has signed: a call that moves tokens. Addresses are lower case. */
export interface Signed {
  readonly from: string
  readonly to: string
  /** Units; the most that is moved, if the call says how many. */
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: string
  /** Whose nonce it is: the token's, or Permit2's. */
  readonly contract: Hex
  readonly call: { readonly to: string; readonly data: string }
  /** Who alone may make the call, and where its data says how much is moved: zero as it was signed. */
  readonly metered?: { readonly caller: string; readonly chargeAt: number }
}

/** A call, and who makes it. */
export interface Calling {
  readonly from: string
  readonly to: string
  readonly data: string
}

/** What a call moves. */
interface Move {
  readonly signed: Signed
  readonly amount: bigint
}

/** How a nonce was used. */
export interface Use {
  readonly transaction: string
  readonly amount: bigint
}

export class Chain {
  readonly blocks: Block[] = []
  readonly pool = new Map<string, Transaction>()
  readonly #balances = new Map<string, History<bigint>>()
  readonly #ether = new Map<string, History<bigint>>()
  readonly #nonces = new Map<string, History<number>>()
  readonly #uses = new Map<string, History<Use>>()
  readonly #mined = new Map<string, Mined>()
  readonly #signed = new Map<string, Signed>()
  /** Nonces of Permit2, by their owner and the place of their word. */
  readonly #permits = new Map<string, string[]>()
  /** What changed in the last blocks, so that it can be undone. */
  #changed: { readonly block: number; readonly history: { undo(block: number): void } }[] = []
  #forks = 0
  /** Until when no block is made, in simulated time (ms). */
  stalledUntil = 0
  /** Wei per gas, of the next blocks. */
  baseFee = 900_000_000n
  transfers = 0
  /** Nonces of transfers that some block had, undone or not, and their transactions. */
  readonly everUsed = new Map<string, Set<string>>()

  constructor() {
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

  /** How an authorization, or a permit, was used. */
  useOf(payer: string, nonce: string, block = this.head): Use | undefined {
    return this.#uses.get(payer + nonce)?.at(block)
  }

  find(hash: string): Mined | undefined {
    return this.#mined.get(hash)
  }

  /** Whether a call can move anything is known only of what was signed. */
  note(signed: Signed): void {
    const { from, nonce, contract } = signed
    this.#signed.set(nonce, signed)
    if (contract === TOKEN) return
    const place = from + word(BigInt(nonce) >> 8n)
    this.#permits.set(place, [...(this.#permits.get(place) ?? []), nonce])
  }

  signedWith(nonce: string): Signed | undefined {
    return this.#signed.get(nonce)
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

  /** The word of an owner's used nonces that Permit2 keeps at a place. */
  nonceBitmap(owner: string, place: string, block: number): bigint {
    let bits = 0n
    // Nonces are random: hardly two of an owner are in the same word.
    for (const nonce of this.#permits.get(owner + place) ?? [])
      if (this.useOf(owner, nonce, block) !== undefined) bits |= 1n << (BigInt(nonce) & 255n)
    return bits
  }

  /** How much a call would move, in the state of a block; `undefined` if it would fail. */
  wouldMove(call: Calling, block: number, timestamp: number): bigint | undefined {
    const move = this.#readMove(call)
    return move && this.#isAllowed(move, block, timestamp) ? move.amount : undefined
  }

  #isAllowed({ signed, amount }: Move, block: number, timestamp: number): boolean {
    const { from, contract, validAfter, validBefore, nonce } = signed
    // ERC-3009 leaves out both ends of the window. Permit2 and its spenders do not.
    const edge = contract === TOKEN ? 1n : 0n
    return (
      BigInt(timestamp) >= validAfter + edge &&
      BigInt(timestamp) <= validBefore - edge &&
      this.useOf(from, nonce, block) === undefined &&
      this.balance(from, block) >= amount
    )
  }

  /** What a call moves: only what its payer has signed. */
  #readMove({ from, to, data }: Calling): Move | undefined {
    const at = 10 + 64 * (to === TOKEN ? 5 : 2)
    const signed = this.#signed.get(`0x${data.slice(at, at + 64)}`)
    if (signed === undefined || signed.call.to !== to) return undefined
    const { call, metered, value } = signed
    if (metered === undefined) return data === call.data ? { signed, amount: value } : undefined
    const { caller, chargeAt } = metered
    const digits = data.slice(chargeAt, chargeAt + 64)
    const asSigned = data.slice(0, chargeAt) + word(0) + data.slice(chargeAt + 64)
    if (from !== caller || asSigned !== call.data) return undefined
    const amount = BigInt(`0x${digits}`)
    return amount > 0n && amount <= value ? { signed, amount } : undefined
  }

  #execute(transaction: Transaction, block: Block): Mined {
    const { from, to, data } = transaction
    this.#write(this.#nonces, from, transaction.nonce + 1)
    const calls = callsIn({ to: to as Hex, data }, [])
    const logs: Log[] = []
    let failed = 0
    const isMulticall = to === MULTICALL3.toLowerCase()
    for (const call of calls) {
      const calling = { ...call, to: call.to.toLowerCase(), from: isMulticall ? to : from }
      if (!this.#transfer(calling, transaction, block, logs)) failed++
    }
    const isList = isMulticall && !isAllOrNothing({ to: to as Hex, data })
    const succeeded = isList || failed === 0
    const gasUsed = GAS.base + GAS.transfer * BigInt(calls.length)
    this.#write(this.#ether, from, this.ether(from) - gasUsed * (block.baseFee + TIP))
    const mined = { transaction, block, succeeded, gasUsed, logs: succeeded ? logs : [] }
    this.#mined.set(transaction.hash, mined)
    return mined
  }

  #transfer(call: Calling, { hash }: Transaction, block: Block, logs: Log[]): boolean {
    const move = this.#readMove(call)
    if (move === undefined || !this.#isAllowed(move, block.number, block.timestamp)) return false
    const { signed, amount } = move
    const { from, to, nonce, contract } = signed
    this.#write(this.#balances, from, this.balance(from) - amount)
    this.#write(this.#balances, to, this.balance(to) + amount)
    this.#write(this.#uses, from + nonce, { transaction: hash, amount })
    const [payer, payee] = [addressWord(from as Hex), addressWord(to as Hex)]
    const topics = [TRANSFER, `0x${payer}`, `0x${payee}`]
    const transfer = { address: TOKEN, topics, data: `0x${word(amount)}` }
    const used = [AUTHORIZATION_USED, `0x${payer}`, nonce]
    if (contract === TOKEN) logs.push({ address: TOKEN, topics: used, data: '0x' }, transfer)
    else logs.push(transfer, { address: call.to, topics: [SETTLED], data: '0x' })
    this.transfers++
    this.everUsed.set(nonce, new Set(this.everUsed.get(nonce)).add(hash))
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
