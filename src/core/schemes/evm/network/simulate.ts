import type { Chain } from '../../../chain/chain.js'
import type { CallResult } from '../../../chain/types.js'
import { coalesce } from '../../../../shared/coalesce.js'
import { decodeProbe, encodeProbe, type ProbeResult } from '../../../chain/transfer-probe.js'
import { keccakHex } from '../../../../shared/crypto/keccak.js'
import { ChainError } from '../../../../shared/errors.js'
import type { Address, Hex } from '../../../../shared/protocol/payment.js'
import { COLD_ACCOUNT_GAS } from '../../../relayer/batch-gas.js'
import { methodOf } from '../transfer-methods.js'
import { allowanceCall } from '../permit2/calls.js'
import { balanceCall, wordOf } from '../transfer/reads.js'
import type { SignedTransfer } from '../transfer/transfer-method.js'
import type { SettlementAsset } from '../transfer/settlement-asset.js'
import { world } from '../../../../shared/world.js'

/** Transfers that are simulated in one request: what a node runs within its gas limit for calls. */
const MAX_PER_REQUEST = 30

/** How long to wait before a node that did not run our code is asked again (ms). */
const UNSUPPORTED_MS = 60_000

/** Stands for the signature of an account whose own code has to check it: that is not run here. */
const NO_SIGNATURE = { v: 27, r: `0x${'0'.repeat(64)}`, s: `0x${'0'.repeat(64)}` } as const

export interface TransferSimulation {
  /** Hash of the payer's code, a delegation (EIP-7702) included; absent for an account without. */
  readonly codeHash: Hex | undefined
  /** Whether the token would make the transfer; never for a payer with code, which is not run here. */
  readonly succeeds: boolean
  readonly isToken: boolean
  /** Gas that calling the token takes; unknown where the node runs no code of ours. */
  readonly gas: bigint | undefined
  /** Gas of it that is paid once by transfers that share a transaction. */
  readonly sharedGas: bigint
  /** The payer's balance; unknown where the token does not say. */
  readonly balance: bigint | undefined
  /** The allowance of Permit2; absent where none is needed, or it is unknown. */
  readonly allowance: bigint | undefined
  /** Whether the payee has no balance yet: writing the first costs more gas. */
  readonly isFirstBalance: boolean
  /** By `world.elapsed()`: the findings are at least as new as this. */
  readonly at: number
}

interface Item {
  readonly transfer: SignedTransfer
  readonly asset: SettlementAsset
  readonly token: Address
  /** The contract that is called. */
  readonly to: Address
  readonly payer: Address
  readonly payee: Address
  readonly data: Hex
}

/** Simulates one transfer together with others of the same caller. Never rejects. */
type Simulate = (item: Item) => Promise<PromiseSettledResult<TransferSimulation>>

/**
 * Simulates transfers without sending them. Those that come at once and have the same caller share one request.
 *
 * The same request tells whether the payer has code, and runs the transfer if it has none: between two
 * requests it could get some. Each transfer runs by itself, on the state of the block.
 */
export class TransferSimulator {
  readonly #chain: Chain
  /**
   * Until when the node is not asked to run our code, by `world.elapsed()`: as creation code, and in the place of
   * an account.
   */
  readonly #unsupportedUntil = { created: -Infinity, placed: -Infinity }
  /** By the only account that may make the calls: relayers and executors, checked before. */
  readonly #byCaller = new Map<Address | undefined, Simulate>()

  constructor(chain: Chain) {
    this.#chain = chain
  }

  /** Simulates a transfer. @throws {@link ChainError} */
  async simulate(transfer: SignedTransfer, asset: SettlementAsset): Promise<TransferSimulation> {
    const isByKey = typeof transfer.signature !== 'string'
    const probed = isByKey ? transfer : { ...transfer, signature: NO_SIGNATURE }
    const method = methodOf(transfer.facts)
    const { to, data } = method.call(probed, { asset })
    const { payer, payTo: payee } = transfer.facts
    const run = this.#togetherFor(method.callerOf?.(transfer.facts))
    const item = { transfer, asset, token: asset.address, to, payer, payee, data }
    const result = await run(item)
    if (result.status === 'rejected') throw result.reason
    return result.value
  }

  #togetherFor(caller: Address | undefined): Simulate {
    const known = this.#byCaller.get(caller)
    if (known !== undefined) return known
    const made = coalesce<Item, PromiseSettledResult<TransferSimulation>>({
      run: (items) => this.#simulateTogether(items, caller),
      most: MAX_PER_REQUEST,
    })
    this.#byCaller.set(caller, made)
    return made
  }

  /** Where transfers have to be simulated alone, each fails by itself. */
  async #simulateTogether(
    items: readonly Item[],
    caller: Address | undefined,
  ): Promise<readonly PromiseSettledResult<TransferSimulation>[]> {
    const different = new Map(items.map((item) => [idOf(item), item]))
    const found = await this.#probe([...different.values()], caller)
    const byId = new Map([...different.keys()].map((id, index) => [id, found[index]]))
    return Promise.allSettled(
      items.map(async (item) => byId.get(idOf(item)) ?? simulateAlone(this.#chain, item)),
    )
  }

  /** @returns Nothing where the node runs no code of ours. */
  async #probe(
    items: readonly Item[],
    caller: Address | undefined,
  ): Promise<readonly TransferSimulation[]> {
    const at = world.elapsed()
    const way = caller === undefined ? 'created' : 'placed'
    if (at < this.#unsupportedUntil[way]) return []
    const returned = await this.#run(encodeProbe(items), caller)
    const results = returned?.ok ? decodeProbe(returned.data, items.length) : undefined
    if (returned !== undefined && results === undefined)
      this.#unsupportedUntil[way] = at + UNSUPPORTED_MS
    return (results ?? []).map((result, index) =>
      simulationFrom(result, {
        item: items[index] as Item,
        at,
        sharedGas: sharedGasByToken(items, results),
      }),
    )
  }

  /**
   * @returns Nothing if the node refuses the request, perhaps because of one of its transfers: each is then
   * simulated alone.
   */
  async #run(code: Hex, at: Address | undefined): Promise<CallResult | undefined> {
    try {
      return await this.#chain.runCode(code, at)
    } catch (error) {
      if (error instanceof ChainError && error.code === 'chain_refused') return undefined
      throw error
    }
  }
}

/** What is called, with what. */
function idOf({ to, data }: Item): string {
  return to + data
}

/** By token: gas that only the first of the transfers took, which found the token cold. */
function sharedGasByToken(
  items: readonly Item[],
  results: readonly ProbeResult[] = [],
): ReadonlyMap<Address, bigint> {
  const shared = new Map<Address, bigint>()
  for (const [index, { token }] of items.entries()) {
    const gas = results[index]?.sharedGas ?? 0n
    if (gas > (shared.get(token) ?? 0n)) shared.set(token, gas)
  }
  return shared
}

interface ProbedItem {
  readonly item: Item
  readonly at: number
  /** By token. */
  readonly sharedGas: ReadonlyMap<Address, bigint>
}

function simulationFrom(
  { codeHash, ran, gas, balances, allowance }: ProbeResult,
  { item, at, sharedGas }: ProbedItem,
): TransferSimulation {
  const { facts, amount: value = facts.amount } = item.transfer
  const { payer, payee, to, token } = item
  const succeeds = ran === 'well'
  const moved = succeeds && payer !== payee ? value : 0n
  const isDirect = to === token
  const isKnown = balances.payer !== undefined
  return {
    codeHash,
    succeeds,
    // A transfer of a token that is not there succeeds for those who do not look.
    isToken: ran !== 'missing' && (isKnown || (isDirect && codeHash === undefined)),
    // Permit2 looks at its payer's account, which was touched before.
    gas: gas + (isDirect ? COLD_ACCOUNT_GAS : 2n * COLD_ACCOUNT_GAS),
    sharedGas: sharedGas.get(item.token) ?? 0n,
    balance: balances.payer === undefined ? undefined : balances.payer + moved,
    allowance: isDirect ? undefined : allowance + moved,
    isFirstBalance: succeeds && balances.payee === value,
    at,
  }
}

/** Simulates by several requests, where the node runs no code of ours. */
async function simulateAlone(
  chain: Chain,
  { transfer, asset, token, payer: from, payee: to }: Item,
): Promise<TransferSimulation> {
  const at = world.elapsed()
  const method = methodOf(transfer.facts)
  // Where the payer has named the caller, nothing may be in between.
  const caller = method.callerOf?.(transfer.facts)
  const call = method.call(transfer, { asset, from: caller })
  const isDirect = call.to === token
  const reads = [
    balanceCall(token, from),
    balanceCall(token, to),
    ...(isDirect ? [] : [allowanceCall(token, from)]),
    ...(caller ? [] : [call]),
  ]
  const [code, tokenCode, calledCode, results, alone] = await Promise.all([
    chain.getCode(from),
    chain.getCode(token),
    isDirect ? undefined : chain.getCode(call.to),
    chain.callMany(reads),
    caller && chain.call(call),
  ])
  const [payer, payee, allowance] = results
  const ran = caller ? alone : results.at(-1)
  const hasCode = code !== '0x'
  return {
    codeHash: hasCode ? keccakHex(code) : undefined,
    succeeds: !hasCode && tokenCode !== '0x' && ran?.ok === true,
    isToken: tokenCode !== '0x' && calledCode !== '0x',
    gas: undefined,
    sharedGas: 0n,
    balance: wordOf(payer),
    allowance: isDirect ? undefined : wordOf(allowance),
    isFirstBalance: wordOf(payee) === 0n,
    at,
  }
}
