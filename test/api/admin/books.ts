/** Months of a shop's books: payments and refunds whose sums are known, put into a ledger by its own store. */
import { recordId, type LedgerEntry, type LedgerStore } from '../../../src/ledger/index.js'
import { Counters } from '../../../src/ledger/counters.js'
import type { RefundEntry } from '../../../src/ledger/refunds.js'
import { knownAssets } from '../../../src/shared/money/assets.js'
import { findNetwork } from '../../../src/shared/protocol/networks.js'
import { lowerHex } from '../../../src/shared/protocol/hex.js'
import { recordLog } from '../api.js'
import { fewAtOnce } from '../../support/few-at-once.js'
import { FAILURE, newEntry, SUBMISSION } from '../../support/ledger-entries.js'

/** Clocks are put back in Berlin on 25 October; one zone is half an hour off, one is a day ahead. */
export const ZONES = ['Europe/Berlin', 'Pacific/Auckland', 'Asia/Kolkata', 'America/Los_Angeles']

const FIRST_DAY = Date.UTC(2026, 9, 23)
const DAY_MS = 86_400_000
const DAYS = 5

/** When days begin in these zones, and when Berlin changes its clocks (hours of UTC). */
const TURNS = [22, 23, 11, 18.5, 7, 1]

const assetOf = (network: string, symbol: string) =>
  knownAssets(findNetwork(network)!).find((one) => one.symbol === symbol)!

/** Three tokens on two networks, of which one is a test network. */
export const TOKENS = [
  assetOf('base', 'USDC'),
  assetOf('base', 'EURC'),
  assetOf('base-sepolia', 'USDC'),
]

/** What moved, or did not, as the chain would tell it. */
export interface Movement {
  readonly kind: 'payment' | 'refund'
  readonly isSettled: boolean
  readonly project: string
  readonly token: (typeof TOKENS)[number]
  readonly units: bigint
  readonly at: number
}

/** The day of a moment in a zone, computed by nothing of ours. */
export const dayIn = (timeZone: string, at: number): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone }).format(at)

/** A movement, and its record. */
interface Booked {
  readonly movement: Movement
  readonly entry: LedgerEntry
}

/** Writes 400 payments and 100 refunds of them. @param date - Moves records to their times. */
export async function writeBooks(
  ledger: LedgerStore,
  date: (records: readonly { readonly id: string; readonly at: number }[]) => Promise<unknown>,
): Promise<readonly Movement[]> {
  const random = randomNumbers(7)
  const payments = Array.from({ length: 400 }, (_, index): Booked => {
    const movement = paymentAt(index, random)
    return { movement, entry: entryOf(movement) }
  })
  await fewAtOnce(payments, (one) => writePayment(ledger, one))
  const paid = payments.filter(({ movement }) => movement.isSettled)
  const refunds = Array.from({ length: 100 }, (_, index): Booked & { entry: RefundEntry } => {
    const { entry, movement } = paid[index * 3]!
    const units = index % 4 === 0 ? movement.units : 1n + BigInt(random(Number(movement.units)))
    const at = movement.at + random(DAYS * DAY_MS - (movement.at - FIRST_DAY))
    const refund: Movement = { ...movement, kind: 'refund', isSettled: index % 7 !== 0, units, at }
    return { movement: refund, entry: refundOf(entry, units) }
  })
  await fewAtOnce(refunds, async ({ entry, movement }) => {
    const reserved = await ledger.refunds.reserveRefund(entry)
    if (reserved.kind !== 'reserved') throw new Error(`It was ${reserved.kind}.`)
    await conclude(ledger, entry, movement)
  })
  const all = [...payments, ...refunds]
  await date(all.map(({ entry, movement: { at } }) => ({ id: recordId(entry), at })))
  const movements = all.map(({ movement }) => movement)
  await countAll(ledger, movements)
  return movements
}

async function writePayment(ledger: LedgerStore, { entry, movement }: Booked): Promise<void> {
  await ledger.payments.reserve(entry)
  await conclude(ledger, entry, movement)
  if (movement.isSettled) await ledger.payments.markDelivered(entry)
}

/** The same numbers below a limit, in every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

function paymentAt(index: number, random: (below: number) => number): Movement {
  const day = FIRST_DAY + random(DAYS) * DAY_MS
  const turn = TURNS[random(TURNS.length)]! * 3_600_000
  // Half of them within seconds of a midnight somewhere.
  const at = index % 2 === 0 ? day + random(DAY_MS) : day + turn - 2000 + random(4000)
  return {
    kind: 'payment',
    isSettled: index % 9 !== 0,
    project: index % 5 === 0 ? 'other' : 'shop',
    token: TOKENS[random(TOKENS.length)]!,
    units: 1n + BigInt(random(5_000_000)),
    at,
  }
}

const entryOf = ({ token, units, project }: Movement): LedgerEntry =>
  newEntry({
    ...{ chainId: token.network.chainId, asset: lowerHex(token.address), value: units, project },
    details: { decimals: token.decimals, resource: 'https://shop.example/report' },
  })

function refundOf({ from, payTo, ...entry }: LedgerEntry, value: bigint): RefundEntry {
  const { nonce } = newEntry()
  const refunded = recordId({ from, ...entry })
  return { ...entry, from: payTo, payTo: from, value, nonce, refundOf: refunded }
}

async function conclude(
  { payments }: LedgerStore,
  entry: LedgerEntry,
  { isSettled }: Movement,
): Promise<void> {
  await payments.submit(entry, SUBMISSION)
  if (!isSettled) return payments.markFailed(entry, FAILURE)
  const { transaction } = SUBMISSION
  await payments.markSettled(entry, transaction, `${transaction}:${entry.nonce}`)
}

/** Counts payments as a gateway does when they happen. */
async function countAll(ledger: LedgerStore, movements: readonly Movement[]): Promise<void> {
  let now = 0
  const counters = new Counters({ store: ledger.counts, logger: recordLog(), now: () => now })
  for (const { kind, isSettled, project, at } of movements) {
    now = at
    if (kind === 'payment') counters.count(project, isSettled ? 'settled' : 'failed')
  }
  await counters.close()
}
