import type { ServerResponse } from 'node:http'
import { keccak256 } from 'viem/utils'
import type { Devnet } from '../devnet/index.js'
import { sendBatch } from '../devnet/send-batch.js'
import { ConfigError } from '../../shared/errors.js'
import { isClosed, onceClosed } from '../../shared/http/once-closed.js'
import type { Hex } from '../../shared/protocol/payment.js'
import type { NodeProxy, NodeRequest, Verdict } from './node-proxy.js'
import { emptyAccount, setBlacklisted, untilMined } from './token.js'

/**
 * A failure of the next payment. `insufficient_funds`: the payer has no tokens (402). `revert`: the
 * transfer reverts on chain (402). `node_away`: the node cannot be reached (503). `pending`: the
 * transaction is mined only after the request is answered (503).
 *
 * @example
 * ```ts
 * import type { Failure, TestShop } from 'express-x402-gateway/testing'
 *
 * const refusals: readonly Failure[] = ['insufficient_funds', 'revert']
 * async function refuse(shop: TestShop): Promise<void> {
 *   for (const failure of refusals) {
 *     shop.failNext(failure)
 *     await shop.buy('/report', { expect: 402 })
 *   }
 * }
 * ```
 */
export type Failure = 'insufficient_funds' | 'revert' | 'node_away' | 'pending'

const FAILURES: readonly string[] = [
  'insufficient_funds',
  'revert',
  'node_away',
  'pending',
] satisfies readonly Failure[]

/** JSON-RPC error of a sync send whose transaction is not mined in time (EIP-7966). */
const NOT_MINED = { code: 4, message: 'The transaction was added to the mempool but not mined.' }

type Undo = () => Promise<void>

interface Surroundings {
  readonly devnet: Devnet
  readonly proxy: NodeProxy
}

/**
 * Makes the next payment of a shop fail, by changing the chain or cutting off the node.
 *
 * @internal
 */
export class Failures {
  readonly #surroundings: Surroundings
  #next: Failure | undefined
  /** Resolves when the current failure has ended. */
  #running: Promise<void> | undefined

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings
  }

  /** Whether the next payment will fail. */
  get isArmed(): boolean {
    return this.#next !== undefined
  }

  /** Makes the next payment fail. @throws `ConfigError` for an unknown failure. */
  arm(failure: Failure): void {
    if (!FAILURES.includes(failure))
      throw new ConfigError('failNext', `takes one of: ${FAILURES.join(', ')}`)
    this.#next = failure
  }

  /** Waits until the current failure is undone. */
  async ended(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  /**
   * Starts the chosen failure before a payment is handled, and ends it with the response. Other payments
   * wait until then.
   */
  async beginFor(payer: Hex, res: ServerResponse): Promise<void> {
    await this.ended()
    const failure = this.#next
    if (failure === undefined || isClosed(res)) return
    this.#next = undefined
    const begun = this.#begin(failure, payer)
    this.#running = this.#undoAfter(res, begun)
    await begun
  }

  async #undoAfter(res: ServerResponse, begun: Promise<Undo>): Promise<void> {
    const responded = new Promise<void>((resolve) => onceClosed(res, resolve))
    try {
      const undo = await begun
      await responded
      await undo()
    } catch {
      // `beginFor` rejects with it, or the chain was stopped.
    } finally {
      this.#running = undefined
    }
  }

  async #begin(failure: Failure, payer: Hex): Promise<Undo> {
    switch (failure) {
      case 'insufficient_funds':
        return takeFunds(this.#surroundings, payer)
      case 'revert':
        return revertTransfers(this.#surroundings, payer)
      case 'node_away':
        return cutOff(this.#surroundings)
      case 'pending':
        return withholdTransactions(this.#surroundings)
    }
  }
}

async function takeFunds({ devnet }: Surroundings, payer: Hex): Promise<Undo> {
  const amount = await emptyAccount(devnet, payer)
  return () => devnet.mint(payer, amount)
}

/** The payment passes verification, then the token refuses the transfer. */
async function revertTransfers({ devnet, proxy }: Surroundings, payer: Hex): Promise<Undo> {
  let isListed = false
  proxy.onRequest = async ({ method }): Promise<Verdict> => {
    if (isSend(method) && !isListed) {
      isListed = true
      await setBlacklisted(devnet, payer, true)
    }
    return 'pass'
  }
  return async () => {
    proxy.onRequest = undefined
    if (isListed) await setBlacklisted(devnet, payer, false)
  }
}

async function cutOff({ proxy }: Surroundings): Promise<Undo> {
  proxy.onRequest = () => 'drop'
  return async () => {
    proxy.onRequest = undefined
  }
}

/** Tells the gateway that the node has the transaction, and sends it to the chain afterwards. */
async function withholdTransactions({ devnet, proxy }: Surroundings): Promise<Undo> {
  const withheld = new Map<Hex, Hex>()
  proxy.onRequest = ({ method, params }: NodeRequest): Verdict => {
    const [first] = params as readonly Hex[]
    if (method === 'eth_getTransactionByHash' && first !== undefined && withheld.has(first))
      return { result: { hash: first } }
    if (!isSend(method) || first === undefined) return 'pass'
    const hash = keccak256(first)
    withheld.set(hash, first)
    return method === 'eth_sendRawTransaction' ? { result: hash } : { error: NOT_MINED }
  }
  return async () => {
    proxy.onRequest = undefined
    for (const [hash, raw] of withheld) {
      // The gateway may have resent or replaced it meanwhile.
      await sendBatch(devnet.rpcUrl, [['eth_sendRawTransaction', raw]]).catch(() => undefined)
      await untilMined(devnet, hash)
    }
  }
}

const isSend = (method: string): boolean => method.startsWith('eth_sendRawTransaction')
