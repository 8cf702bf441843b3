import { LRUCache } from 'lru-cache'
import { growingTo } from '../../../../shared/growing-to.js'
import { AUTHORIZATION_USED } from '../../../chain/abi.js'
import type { Log, Receipt } from '../../../chain/types.js'
import { divideUp } from '../../../../shared/money/decimal.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'
import type { Address, Hex } from '../../../../shared/protocol/payment.js'
import { isSettlement } from '../permit2/contracts.js'

/** How many transactions are remembered. */
const REMEMBERED = 10_000

interface Cost {
  /** In wei, with its part of the fee for data. */
  readonly price: bigint
  /** For each payment that it made; all of it, if it made none. */
  readonly each: bigint
  /** Not charged to any payment yet. */
  left: bigint
}

/** Divides the cost of a transaction among the payments that it made: they may be of several merchants. */
export class GasShares {
  readonly #costs = new LRUCache<Hex, Cost>(growingTo(REMEMBERED))
  readonly #assets: Pick<ReadonlySet<Address>, 'has'>

  /** @param assets - Tokens, in lower case: a factory that a payer names may log what it likes. */
  constructor(assets: Pick<ReadonlySet<Address>, 'has'>) {
    this.#assets = assets
  }

  add({ transaction, logs, gasUsed, gasPrice, l1Fee }: Receipt): void {
    if (this.#costs.has(transaction)) return
    const paid = logs.filter((log) => this.#isUse(log) || isSettlement(log)).length
    const members = BigInt(Math.max(paid, 1))
    // Rounded up, so that nothing is left over.
    const each = divideUp(gasUsed, members)
    const price = gasPrice + (gasUsed === 0n ? 0n : divideUp(l1Fee, gasUsed))
    this.#costs.set(transaction, { price, each, left: gasUsed })
  }

  #isUse({ address, topics }: Log): boolean {
    return topics[0]?.toLowerCase() === AUTHORIZATION_USED && this.#assets.has(lowerHex(address))
  }

  /** Charges one payment with its share. @returns Gas, and its price in wei; 0 for a transaction that is not ours. */
  charge(transaction: Hex): { readonly gas: bigint; readonly wei: bigint } {
    const cost = this.#costs.get(transaction)
    if (cost === undefined) return { gas: 0n, wei: 0n }
    const gas = cost.each < cost.left ? cost.each : cost.left
    cost.left -= gas
    return { gas, wei: gas * cost.price }
  }
}
