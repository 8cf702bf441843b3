import type { CallResult, Chain } from '../../../chain/chain.js'
import { coalesce } from '../../../chain/coalesce.js'
import { decodeProbe, encodeProbe, type ProbeResult } from '../../../chain/transfer-probe.js'
import type { Address, Hex } from '../../../protocol/payment.js'
import { keccakHex } from '../../../crypto/keccak.js'
import { lowerHex } from '../authorization.js'
import { balanceCall, transferCall, type SignedTransfer } from '../erc3009.js'
import { wordOf } from '../confirm/outcome.js'

/** Transfers that are looked at in one request: what a node runs within its gas limit for calls. */
const MAX_PER_REQUEST = 30

/** Milliseconds for which a node is not asked again to run code, once it has not. */
const UNSUPPORTED_MS = 60_000

/** Gas of looking for code at an address that was not looked at before (EIP-2929). */
const COLD_ACCOUNT_GAS = 2500n

/** A signature that fits every transfer, for accounts whose own code would have to check theirs. */
const NO_SIGNATURE = { v: 27, r: `0x${'0'.repeat(64)}`, s: `0x${'0'.repeat(64)}` } as const

/** What a look at a transfer found, all at one block. */
export interface TransferSimulation {
  /** Hash of the payer's code, a delegation (EIP-7702) included; absent for an account without. */
  readonly codeHash: Hex | undefined
  /** Whether the token would make the transfer; never for a payer with code, which is not run here. */
  readonly succeeds: boolean
  readonly isToken: boolean
  /** Gas that calling the token takes; unknown where the node does not tell. */
  readonly gas: bigint | undefined
  /** Gas of it that is paid once by transfers that share a transaction. */
  readonly sharedGas: bigint
  /** What the payer has of the token; unknown where the token does not say. */
  readonly balance: bigint | undefined
  /** Whether the payee has nothing yet: his first balance costs more gas. */
  readonly isFirstBalance: boolean
  /** By `performance.now()`: what it found is at least as new as this. */
  readonly at: number
}

/** Looks at a transfer. @throws {@link ChainError} */
export type SimulateTransfer = (
  transfer: SignedTransfer,
  token: Address,
) => Promise<TransferSimulation>

interface Item {
  readonly transfer: SignedTransfer
  readonly token: Address
  readonly data: Hex
}

/**
 * Makes a look at transfers, which is one request for all that come at once.
 *
 * The same request tells whether the payer has code, and runs the transfer if he has none: between
 * two requests he could come by some. Each transfer is run by itself, on the state of the block.
 */
export function createSimulator(chain: Chain): SimulateTransfer {
  let unsupportedUntil = -Infinity

  const simulateTogether = async (
    items: readonly Item[],
  ): Promise<readonly TransferSimulation[]> => {
    const different = [...new Map(items.map((item) => [item.token + item.data, item])).values()]
    const found = await probe(different)
    const byItem = new Map(different.map((item, index) => [item.token + item.data, found[index]]))
    return Promise.all(
      items.map(async (item) => byItem.get(item.token + item.data) ?? simulateAlone(chain, item)),
    )
  }

  /** @returns Nothing where the node runs no code of ours. */
  const probe = async (items: readonly Item[]): Promise<readonly TransferSimulation[]> => {
    const at = performance.now()
    if (at < unsupportedUntil) return []
    const returned: CallResult = await chain.runCode(encodeProbe(items))
    const results = returned.ok ? decodeProbe(returned.data, items.length) : undefined
    if (results === undefined) unsupportedUntil = at + UNSUPPORTED_MS
    return (results ?? []).map((result, index) =>
      simulationFrom(result, {
        item: items[index] as Item,
        at,
        sharedGas: sharedGas(items, results),
      }),
    )
  }

  const look = coalesce<Item, TransferSimulation>({ run: simulateTogether, most: MAX_PER_REQUEST })
  return (transfer, token) => {
    const isByKey = typeof transfer.signature !== 'string'
    const probed = isByKey ? transfer : { ...transfer, signature: NO_SIGNATURE }
    const { data } = transferCall(probed, { asset: { address: token } })
    return look({ transfer, token: lowerHex(token), data })
  }
}

/** By token, of the transfers that were looked at together: whichever came first found it cold. */
function sharedGas(
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

function simulationFrom(
  { codeHash, ran, gas, balances }: ProbeResult,
  {
    item,
    at,
    sharedGas: shared,
  }: {
    readonly item: Item
    readonly at: number
    readonly sharedGas: ReadonlyMap<Address, bigint>
  },
): TransferSimulation {
  const { from, to, value } = item.transfer.authorization
  const succeeds = ran === 'well'
  const moved = succeeds && from !== to ? value : 0n
  return {
    codeHash,
    succeeds,
    isToken: codeHash === undefined ? ran !== 'not' : balances.payer !== undefined,
    gas: gas + COLD_ACCOUNT_GAS,
    sharedGas: shared.get(item.token) ?? 0n,
    balance: balances.payer === undefined ? undefined : balances.payer + moved,
    isFirstBalance: succeeds && balances.payee === value,
    at,
  }
}

/** The same by several requests, where a node runs no code of ours. */
async function simulateAlone(chain: Chain, { transfer, token }: Item): Promise<TransferSimulation> {
  const at = performance.now()
  const { from, to } = transfer.authorization
  const call = transferCall(transfer, { asset: { address: token } })
  const [code, tokenCode, [payer, payee, ran]] = await Promise.all([
    chain.getCode(from),
    chain.getCode(token),
    chain.callMany([balanceCall(token, from), balanceCall(token, to), call]),
  ])
  const hasCode = code !== '0x'
  return {
    codeHash: hasCode ? keccakHex(code) : undefined,
    succeeds: !hasCode && tokenCode !== '0x' && ran?.ok === true,
    isToken: tokenCode !== '0x',
    gas: undefined,
    sharedGas: 0n,
    balance: wordOf(payer),
    isFirstBalance: wordOf(payee) === 0n,
    at,
  }
}
