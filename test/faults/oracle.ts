/** What must hold whatever has happened: nothing lost, nothing twice, nothing called what it is not. */
import { sendBatch } from '../../src/tools/devnet/send-batch.js'
import type { LedgerRecord } from '../../src/ledger/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { AUTHORIZATION_USED, TRANSFER } from '../../src/core/chain/abi.js'
import { amountOf } from '../../src/ledger/record.js'
import type { GatewayProcess } from './gateway-process.js'
import { authorizationOf, isUncharged } from './authorization.js'
import { readPermits } from './permit-transfers.js'
import { visitRules } from './visit-rules.js'

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
  /** Names the request in what its gateway's process tells. */
  readonly visit: string
  readonly path: string
  /** It may be asked for again by a key of its client's. */
  readonly hasKey: boolean
  /** The client did not wait for an answer. */
  readonly gaveUp: boolean
  /** What was bought: the handler's good, or the transaction of a settlement. */
  readonly good?: string | undefined
  /** The handler gave its answer away. */
  readonly isFree?: boolean | undefined
  /** Token units that its receipt says were taken; only metered payments say so. */
  readonly amount?: string | undefined
  /** Token units that its settlement was to take. */
  readonly charge?: bigint | undefined
}

/** What the merchant was paid, as the chain has it. */
export interface Transfer {
  readonly authorization: string
  readonly from: Hex
  readonly transaction: Hex
  readonly value: bigint
  /** Whether Permit2 has moved it. */
  readonly isByPermit?: boolean
}

/** Everything that is known when all is over, and every process and its holds are gone. */
export interface Evidence {
  readonly answers: readonly Answer[]
  readonly transfers: readonly Transfer[]
  readonly records: readonly LedgerRecord[]
  /** What each payment is worth. */
  readonly price: bigint
  /** The same of those that are worth something else, by authorization. */
  readonly prices?: ReadonlyMap<string, bigint>
  /** The most that metered payments may take, by authorization: what they take, their handlers say. */
  readonly maxima?: ReadonlyMap<string, bigint>
  readonly processes: readonly Pick<GatewayProcess, 'visits' | 'endedBy'>[]
  /** What the ledger's file itself complains of. */
  readonly damage?: readonly string[] | undefined
}

/** Answers after which the same payment is worth presenting again. */
const OPEN_REASONS = ['settlement_pending', 'duplicate_settlement', 'rate_limited']

/** Answers that say: this payment was sent, and has not paid the merchant. */
const FAILED_REASONS = ['invalid_transaction_state', 'invalid_exact_evm_transfer_event_mismatch']

/** Answers to those who ask again for what was let out. */
const LOST_REASONS = [
  'invalid_exact_evm_nonce_already_used',
  'permit2_invalid_nonce',
  'answer_not_kept',
]

/** Whether an answer leaves open what became of the payment. */
export function isOpen({ status, delivered, reason }: Answer): boolean {
  if (delivered) return false
  if (reason !== undefined && status !== 503) return OPEN_REASONS.includes(reason)
  return status === 0 || status >= 500
}

/** Everything that must not be, one line for each kind; empty when all is well. */
export function findViolations(evidence: Evidence): string[] {
  const { answers, transfers, records, damage, price, prices, maxima } = evidence
  const recordOf = new Map(records.map((record) => [authorizationOf(record), record]))
  const paid = countBy(transfers.map(({ authorization }) => authorization))
  const uncharged = new Set(records.filter(isUncharged).map(authorizationOf))
  const isOver = (authorization: string): boolean =>
    paid.has(authorization) || uncharged.has(authorization)
  const grants = countBy(
    answers.filter(({ delivered }) => delivered).map(({ authorization }) => authorization),
  )
  const withoutKey = countBy(
    answers
      .filter(({ delivered, hasKey }) => delivered && !hasKey)
      .map(({ authorization }) => authorization),
  )
  const told = new Map<string, Answer[]>()
  for (const answer of answers) {
    const heard = told.get(answer.authorization)
    if (heard === undefined) told.set(answer.authorization, [answer])
    else heard.push(answer)
  }
  const rules = visitRules(evidence, new Set([...paid.keys(), ...uncharged]))
  const violations = new Map<string, string[]>()
  const report = (what: string, authorization: string): void => {
    const describe = (answer: Answer): string => describeAnswer(answer, rules.seen(answer))
    const heard = (told.get(authorization) ?? []).map(describe).join(', ')
    const state = recordOf.get(authorization)?.state ?? 'none'
    const example = `${authorization} (record: ${state}; answers in their order: ${heard})`
    violations.set(what, [...(violations.get(what) ?? []), example])
  }

  for (const [what, authorizations] of rules.violations)
    for (const authorization of authorizations) report(what, authorization)

  // By its key, one answer may be given again.
  for (const [authorization, count] of withoutKey)
    if (count > 1) report(`delivered ${count} times`, authorization)
  for (const authorization of grants.keys())
    if (!isOver(authorization)) report('delivered, but not paid', authorization)
  for (const { authorization, value } of transfers) {
    const maximum = maxima?.get(authorization)
    if (maximum === undefined) {
      if (value !== (prices?.get(authorization) ?? price)) report(`paid ${value}`, authorization)
    } else if (value > maximum) report(`paid ${value}, more than the maximum`, authorization)
    const record = recordOf.get(authorization)
    if (record !== undefined && value !== amountOf(record))
      report('paid something else than the ledger says', authorization)
    if (uncharged.has(authorization)) report('paid, but for nothing in the ledger', authorization)
  }
  for (const [authorization, record] of recordOf) {
    if (record.charged !== undefined && record.charged > record.value)
      report('charged more than was signed, in the ledger', authorization)
    // A refund, or a payment that was left without an answer, has no handler of its own.
    const isSettled = record.state === 'settled' && maxima?.has(authorization) === true
    if (isSettled && !rules.charges(authorization).has(amountOf(record)))
      report(`charged ${amountOf(record)}, which no handler has said`, authorization)
  }
  for (const { authorization, amount, delivered } of answers) {
    const record = recordOf.get(authorization)
    if (!delivered || record === undefined || maxima?.has(authorization) !== true) continue
    if (amount !== undefined && BigInt(amount) !== amountOf(record))
      report(`told that ${amount} were taken, not ${amountOf(record)}`, authorization)
  }
  for (const [authorization, count] of paid) {
    if (count > 1) report(`paid ${count} times`, authorization)
    const record = recordOf.get(authorization)
    if (record === undefined) report('paid, but not in the ledger', authorization)
    if (record?.state === 'failed') report('paid, but failed in the ledger', authorization)
    if (record?.state === 'reserved') report('paid, but only reserved in the ledger', authorization)
  }

  for (const [authorization, { state }] of recordOf)
    if (state === 'settled' && !isOver(authorization))
      report('settled in the ledger, but not paid', authorization)

  for (const [authorization, heard] of told) {
    if (!isOver(authorization)) continue
    const last = heard.at(-1)
    // One that failed may be presented again while its authorization is unused: its last answer counts.
    if (FAILED_REASONS.includes(last?.reason ?? ''))
      report(`paid, but answered as ${last?.reason}`, authorization)
    if (grants.has(authorization) || last === undefined || isOpen(last)) continue
    // What was let out may have been lost on its way: then the payer heard nothing at least once,
    // and the ledger says that it was delivered. (Nobody is alive that could hold it otherwise.)
    const mayBeLost =
      heard.some((answer) => rules.mayBeLost(answer)) &&
      recordOf.get(authorization)?.locked === true
    if (!mayBeLost || !LOST_REASONS.includes(last.reason ?? ''))
      report(`paid, never delivered, and at last told ${last.reason}`, authorization)
  }
  return [
    ...(damage ?? []).map((complaint) => `the ledger’s file is damaged: ${complaint}`),
    ...[...violations].map(([what, found]) => `${found.length} × ${what}, such as ${found[0]}`),
  ]
}

function describeAnswer(answer: Answer, seen: string): string {
  const { visit, path, hasKey, status, delivered, gaveUp, reason, transaction } = answer
  const result = delivered ? 'delivered' : (reason ?? (gaveUp ? 'gave up' : ''))
  const words = [path, hasKey && 'key', status || 'none', result, transaction?.slice(0, 10), seen]
  return `#${visit} ${words.filter(Boolean).join(' ')}`
}

interface RawLog {
  readonly data: Hex
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
  const canonical = moved.filter(isCanonical)
  // The token says whose authorization it uses, and then moves the money.
  const useOf = (log: RawLog): RawLog | undefined => usedAt.get(position(log, -1))
  const ofPermits = canonical.filter((log) => useOf(log) === undefined)
  const permits = new Map(
    [...(await readPermits(rpcUrl, ofPermits))].map(([transaction, used]) => [
      transaction,
      used.filter(
        ({ token, payee, value }) =>
          value > 0n && token === asset.toLowerCase() && payee === merchant.toLowerCase(),
      ),
    ]),
  )
  return canonical.map((log) => {
    const from: Hex = `0x${log.topics[1]!.slice(-40)}`
    const use = useOf(log)
    // Permits move tokens one after the other.
    const permit = use ? undefined : permits.get(log.transactionHash)?.shift()
    const isOfPermit = permit?.owner === from && permit.value === BigInt(log.data)
    const nonce = use?.topics[2] ?? (isOfPermit ? permit.nonce : '0x')
    const authorization = authorizationOf({ from, nonce })
    const isByPermit = use === undefined
    const value = BigInt(log.data)
    return { authorization, from, transaction: log.transactionHash, value, isByPermit }
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
