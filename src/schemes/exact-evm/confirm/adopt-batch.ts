import { LRUCache } from 'lru-cache'
import { decodeFunctionData, parseTransaction } from 'viem/utils'
import { callsIn, tokenAbi } from '../../../chain/abi.js'
import type { LedgerStore, LedgerEntry, Submission } from '../../../ledger/ledger.js'
import type { Hex } from '../../../protocol/payment.js'
import { lowerHex } from '../authorization.js'

/** Batches remembered whose members are all known to the ledger. */
const REMEMBERED = 1000

const adopted = new WeakMap<LedgerStore, LRUCache<Hex, true>>()

/**
 * Takes note of every payment that a transaction makes, before its bytes are sent again.
 *
 * They pay all members of the batch, also one whose record was left reserved, or was given back: by a
 * version that wrote a batch ahead record by record, and was killed in between.
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
  // One alone is the payment whose record has the bytes.
  if (entries.length > 1) await ledger.adopt(entries, submission)
  known.set(submission.transaction, true)
}

/** The payments that a transaction makes; only its sender knows for which project. */
function entriesOf(chainId: number, raw: Hex): readonly LedgerEntry[] {
  if (raw === '0x') return []
  const { to, data } = parseTransaction(raw)
  if (!to || !data) return []
  return callsIn({ to, data }).flatMap((call) => {
    const entry = entryOf(chainId, call)
    return entry === undefined ? [] : [entry]
  })
}

function entryOf(
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
    // No call of a payment.
    return undefined
  }
}
