/** Which permits moved tokens. Permit2 logs nothing: the calls that a transaction has made inside tell. */
import { decodeFunctionData } from 'viem/utils'
import { sendBatch } from '../../src/tools/devnet/send-batch.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { permit2Abi } from '../tools/devnet/abis.js'

const PERMIT2 = '0x000000000022d473030f116ddee9f6b43ac78ba3'

/** Transactions that are traced in one request. */
const AT_ONCE = 50

/** A permit that was used. Addresses are lower case. */
export interface UsedPermit {
  readonly owner: string
  /** 32 bytes. */
  readonly nonce: Hex
  readonly token: string
  readonly payee: string
  readonly value: bigint
}

/** A call inside a transaction; those that it has made come after it. */
interface Trace {
  readonly action: { readonly to?: Hex; readonly input?: Hex }
  readonly error?: string
  /** Its place among the calls of its caller, after that caller's own. */
  readonly traceAddress: readonly number[]
}

/** Where a transaction is on the chain. */
interface Mined {
  readonly transactionHash: Hex
  readonly blockHash: Hex
}

const known = new Map<string, readonly UsedPermit[]>()

/** Reads the permits that transactions have used, in their order, by transaction. */
export async function readPermits(
  rpcUrl: string,
  mined: readonly Mined[],
): Promise<ReadonlyMap<Hex, readonly UsedPermit[]>> {
  // After a reorganisation the same transaction may do something else.
  const idOf = ({ blockHash, transactionHash }: Mined): string => blockHash + transactionHash
  const unread = [...new Map(mined.map((one) => [idOf(one), one])).values()].filter(
    (one) => !known.has(idOf(one)),
  )
  while (unread.length > 0) {
    const some = unread.splice(0, AT_ONCE)
    const traces = await sendBatch(
      rpcUrl,
      some.map(({ transactionHash }) => ['trace_transaction', transactionHash]),
    )
    some.forEach((one, index) => known.set(idOf(one), permitsIn(traces[index] as Trace[])))
  }
  return new Map(mined.map((one) => [one.transactionHash, known.get(idOf(one)) ?? []]))
}

/** What was undone counts for nothing, with all that it has called. */
function permitsIn(traces: readonly Trace[]): readonly UsedPermit[] {
  const failed = traces.filter(({ error }) => error !== undefined)
  const isUndone = ({ traceAddress }: Trace): boolean =>
    failed.some((one) => one.traceAddress.every((place, depth) => traceAddress[depth] === place))
  return traces.flatMap((trace) => {
    const { to, input = '0x' } = trace.action
    if (to?.toLowerCase() !== PERMIT2 || isUndone(trace)) return []
    const { functionName, args } = decodeFunctionData({ abi: permit2Abi, data: input })
    if (functionName !== 'permitWitnessTransferFrom') return []
    const [{ permitted, nonce }, { to: payee, requestedAmount }, owner] = args
    return {
      owner: owner.toLowerCase(),
      nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
      token: permitted.token.toLowerCase(),
      payee: payee.toLowerCase(),
      value: requestedAmount,
    } satisfies UsedPermit
  })
}
