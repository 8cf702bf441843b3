import { LRUCache } from 'lru-cache'
import { decodeFunctionData, parseTransaction } from 'viem/utils'
import { callsIn, tokenAbi } from '../../../chain/abi.js'
import type { LedgerStore, LedgerEntry, Submission } from '../../../ledger/index.js'
import { lowerHex } from '../../../protocol/hex.js'
import type { Hex } from '../../../protocol/payment.js'

/** Batches remembered whose members are all in the ledger. */
const REMEMBERED = 1000

/** By ledger: the transactions whose members are all in it. */
const adopted = new WeakMap<LedgerStore, LRUCache<Hex, true>>()

/**
 * Records every payment that a transaction makes, before its bytes are sent again.
 *
 * The bytes pay all members of the batch, even one whose record is reserved or gone. An earlier version
 * recorded a batch one member at a time, and may have been killed in between.
 *
 * @throws {@link LedgerError}; the bytes must not be sent then.
 */
export async function adoptBatch(
  ledger: LedgerStore,
  chainId: number,
  submission: Submission,
): Promise<void> {
  const known = adopted.get(ledger) ?? new LRUCache<Hex, true>({ max: REMEMBERED })
  adopted.set(ledger, known)
  if (known.has(submission.transaction)) return
  const entries = entriesOf(chainId, submission.raw)
  // A single payment is the one whose record has the bytes.
  if (entries.length > 1) await ledger.payments.adopt(entries, submission)
  known.set(submission.transaction, true)
}

/** The payments that a transaction makes. Only its sender knows their project. */
function entriesOf(chainId: number, raw: Hex): readonly LedgerEntry[] {
  if (raw === '0x') return []
  const { to, data } = parseTransaction(raw)
  if (!to || !data) return []
  return callsIn({ to, data }).flatMap((call) => {
    const entry = entryOf(chainId, call)
    return entry === undefined ? [] : [entry]
  })
}

/** The payment that a call makes; `undefined` for the call of something else. */
export function entryOf(
  chainId: number,
  { to, data }: { readonly to: Hex; readonly data: Hex },
): LedgerEntry | undefined {
  try {
    const { functionName, args } = decodeFunctionData({ abi: tokenAbi, data })
    if (functionName !== 'transferWithAuthorization') return undefined
    const [from, payTo, value, , validBefore, nonce] = args
    const key = { chainId, asset: lowerHex(to), from: lowerHex(from), nonce: lowerHex(nonce) }
    return { ...key, payTo: lowerHex(payTo), value, validBefore }
  } catch {
    // Not the call of a payment.
    return undefined
  }
}
