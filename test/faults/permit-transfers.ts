/** Which permits moved tokens. Permit2 logs nothing: the calls that a transaction has made inside tell. */
import { decodeFunctionData } from 'viem/utils'
import { sendBatch } from '../../src/devnet/send-batch.js'
import type { Hex } from '../../src/protocol/payment.js'
import { permit2Abi } from '../devnet/abis.js'

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

interface Frame {
  readonly to?: Hex
  readonly input: Hex
  readonly error?: string
  readonly calls?: readonly Frame[]
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
    const tracer = { tracer: 'callTracer' }
    const frames = await sendBatch(
      rpcUrl,
      some.map(({ transactionHash }) => ['debug_traceTransaction', transactionHash, tracer]),
    )
    some.forEach((one, index) => known.set(idOf(one), permitsIn(frames[index] as Frame)))
  }
  return new Map(mined.map((one) => [one.transactionHash, known.get(idOf(one)) ?? []]))
}

/** What was undone counts for nothing, with all that is below it. */
function permitsIn({ to, input, error, calls = [] }: Frame): readonly UsedPermit[] {
  if (error !== undefined) return []
  if (to?.toLowerCase() !== PERMIT2) return calls.flatMap(permitsIn)
  const { functionName, args } = decodeFunctionData({ abi: permit2Abi, data: input })
  if (functionName !== 'permitWitnessTransferFrom') return []
  const [{ permitted, nonce }, { to: payee, requestedAmount }, owner] = args
  return [
    {
      owner: owner.toLowerCase(),
      nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
      token: permitted.token.toLowerCase(),
      payee: payee.toLowerCase(),
      value: requestedAmount,
    },
  ]
}
