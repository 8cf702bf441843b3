/** What must hold whatever has happened: nothing lost, nothing twice, nothing called what it is not. */
import { sendBatch } from '../../src/devnet/send-batch.js'
import type { LedgerRecord } from '../../src/ledger/index.js'
import type { Hex } from '../../src/protocol/payment.js'
import { AUTHORIZATION_USED, TRANSFER } from '../../src/chain/abi.js'

/** What a client was told, once. */
export interface Answer {
  /** Names the authorization: payer and nonce. */
  readonly authorization: string
  /** The HTTP status, 0 where no answer came. */
  readonly status: number
  /** The purchase was let out: 200 of a route, `success` of a settlement. */
  readonly delivered: boolean
  /** Why not, where the answer says so. */
  readonly reason?: string | undefined
  readonly transaction?: string | undefined
}

/** What the merchant was paid, as the chain has it. */
export interface Transfer {
  readonly authorization: string
  readonly transaction: Hex
}

/** Everything that is known when all is over, and every process and its holds are gone. */
export interface Evidence {
  readonly answers: readonly Answer[]
  readonly transfers: readonly Transfer[]
  readonly records: readonly LedgerRecord[]
  /** What the ledger's file itself complains of. */
  readonly damage?: readonly string[] | undefined
}

/** Answers after which the same payment is worth presenting again. */
const OPEN_REASONS = ['settlement_pending', 'duplicate_settlement']

/** Answers that say: this payment was sent, and has not paid the merchant. */
const FAILED_REASONS = ['invalid_transaction_state', 'invalid_exact_evm_transfer_event_mismatch']

const ALREADY_USED = 'invalid_exact_evm_nonce_already_used'

/** Whether an answer leaves open what became of the payment. */
export function isOpen({ status, delivered, reason }: Answer): boolean {
  if (delivered) return false
  if (reason !== undefined && status !== 503) return OPEN_REASONS.includes(reason)
  return status === 0 || status >= 500
}

/** Everything that must not be, one line for each kind; empty when all is well. */
export function findViolations({ answers, transfers, records, damage }: Evidence): string[] {
  const recordOf = new Map(records.map((record) => [authorizationOf(record), record]))
  const paid = countBy(transfers.map(({ authorization }) => authorization))
  const grants = countBy(
    answers.filter(({ delivered }) => delivered).map(({ authorization }) => authorization),
  )
  const told = new Map<string, Answer[]>()
  for (const answer of answers) {
    const heard = told.get(answer.authorization)
    if (heard === undefined) told.set(answer.authorization, [answer])
    else heard.push(answer)
  }
  const violations = new Map<string, string[]>()
  const report = (what: string, authorization: string): void => {
    const heard = (told.get(authorization) ?? []).map(describeAnswer).join(', ')
    const state = recordOf.get(authorization)?.state ?? 'none'
    const example = `${authorization} (record: ${state}; answers in their order: ${heard})`
    violations.set(what, [...(violations.get(what) ?? []), example])
  }

  for (const [authorization, count] of grants) {
    if (count > 1) report(`delivered ${count} times`, authorization)
    if (!paid.has(authorization)) report('delivered, but not paid', authorization)
  }
  for (const [authorization, count] of paid) {
    if (count > 1) report(`paid ${count} times`, authorization)
    const record = recordOf.get(authorization)
    if (record === undefined) report('paid, but not in the ledger', authorization)
    if (record?.state === 'failed') report('paid, but failed in the ledger', authorization)
    if (record?.state === 'reserved') report('paid, but only reserved in the ledger', authorization)
  }

  for (const [authorization, { state }] of recordOf)
    if (state === 'settled' && !paid.has(authorization))
      report('settled in the ledger, but not paid', authorization)

  for (const [authorization, heard] of told) {
    if (!paid.has(authorization)) continue
    const failed = heard.find(({ reason = '' }) => FAILED_REASONS.includes(reason))
    if (failed !== undefined) report(`paid, but answered as ${failed.reason}`, authorization)
    const last = heard.at(-1)
    if (grants.has(authorization) || last === undefined || isOpen(last)) continue
    // What was let out may have been lost on its way: then the payer heard nothing at least once,
    // and the ledger says that it was delivered. (Nobody is alive that could hold it otherwise.)
    const mayBeLost =
      last.reason === ALREADY_USED &&
      heard.some(({ status }) => status === 0) &&
      recordOf.get(authorization)?.locked === true
    if (!mayBeLost) report(`paid, never delivered, and at last told ${last.reason}`, authorization)
  }
  return [
    ...(damage ?? []).map((complaint) => `the ledger’s file is damaged: ${complaint}`),
    ...[...violations].map(([what, found]) => `${found.length} × ${what}, such as ${found[0]}`),
  ]
}

function describeAnswer({ status, delivered, reason, transaction }: Answer): string {
  const result = delivered ? 'delivered' : (reason ?? '')
  return [status || 'none', result, transaction?.slice(0, 10)].filter(Boolean).join(' ')
}

/** Names an authorization as the oracle does. */
export function authorizationOf({ from, nonce }: { from: string; nonce: string }): string {
  return `${from}:${nonce}`.toLowerCase()
}

interface RawLog {
  readonly topics: readonly Hex[]
  readonly transactionHash: Hex
  readonly blockNumber: Hex
  readonly blockHash: Hex
  readonly logIndex: Hex
}

/** Reads from the chain itself what a merchant was paid by authorizations. */
export async function readTransfers(
  rpcUrl: string,
  { asset, merchant }: { asset: Hex; merchant: Hex },
): Promise<Transfer[]> {
  const range = { address: asset, fromBlock: '0x0', toBlock: 'latest' }
  const word = `0x${merchant.slice(2).toLowerCase().padStart(64, '0')}`
  const [moved, used] = (await sendBatch(rpcUrl, [
    ['eth_getLogs', { ...range, topics: [TRANSFER, null, word] }],
    ['eth_getLogs', { ...range, topics: [AUTHORIZATION_USED] }],
  ])) as [RawLog[], RawLog[]]
  const position = ({ blockHash, logIndex }: RawLog, offset = 0): string =>
    `${blockHash}:${Number(logIndex) + offset}`
  const usedAt = new Map(used.map((log) => [position(log), log]))
  const isCanonical = await canonicalBlocks(rpcUrl, moved)
  return moved.filter(isCanonical).map((log) => {
    // The token says whose authorization it uses, and then moves the money.
    const before = usedAt.get(position(log, -1))
    const [, payer = '0x', nonce = '0x'] = before?.topics ?? []
    const authorization = authorizationOf({ from: `0x${payer.slice(-40)}`, nonce })
    return { authorization, transaction: log.transactionHash }
  })
}

/** After a reorganisation anvil may still tell of logs in blocks that it has dropped. */
async function canonicalBlocks(
  rpcUrl: string,
  logs: readonly RawLog[],
): Promise<(log: RawLog) => boolean> {
  const numbers = [...new Set(logs.map(({ blockNumber }) => blockNumber))]
  const hashes = new Set<unknown>()
  while (numbers.length > 0) {
    const some = numbers.splice(0, 500)
    const asked = some.map((number) => ['eth_getBlockByNumber', number, false] as const)
    for (const block of await sendBatch(rpcUrl, asked))
      hashes.add((block as { hash: unknown } | null)?.hash)
  }
  return ({ blockHash }) => hashes.has(blockHash)
}

function countBy(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
