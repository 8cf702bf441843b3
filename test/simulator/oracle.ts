/**
 * What must hold of every payment once the faults have ended and time has passed, whoever has made them.
 *
 * 1. A payment buys one good at most, and only that which it was taken for. One request at a time makes it, and only its
 *    buyer gets it.
 * 2. Nobody is served unpaid: what was received is paid for on the chain.
 * 3. Money that moved has bought something, or is in the books: the ledger has it as settled.
 *    Who asks for it until the end gets it, unless an answer was let out before, or its process has died with it.
 * 4. The ledger says of each payment what the chain says, and leaves none open.
 * 5. No more is paid back than was paid, and nothing that was not.
 * 6. The books equal the chain, to the unit, and name the transaction that has paid. Where a handler says what is charged,
 *    that is moved, and what its buyer is told.
 * 7. A payment link is paid once, and then is known to be.
 * 8. Once nothing goes wrong any more, everybody is served.
 */
import { amountOf, type LedgerRecord, type LedgerStore } from '../../src/ledger/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import type { Chain, Signed, Use } from './chain.js'
import { isLink, priceOf, type Path, type Purchase } from './buyers.js'

export interface Violation {
  readonly purchase: number
  readonly words: string
}

export interface Judged {
  readonly chain: Chain
  readonly ledger: LedgerStore
  readonly purchases: readonly Purchase[]
  /** Payments for which two requests made something at the same time. */
  readonly madeTwice: ReadonlySet<string>
  /** What handlers have charged, by the payment. */
  readonly charges: ReadonlyMap<string, ReadonlySet<bigint>>
  readonly payTo: string
}

export async function judge(judged: Judged): Promise<Violation[]> {
  const { chain, purchases, payTo } = judged
  const violations: Violation[] = []
  const links = new Set<Path>()
  let books = 0n
  for (const purchase of purchases) {
    const facts = await factsOf(judged, purchase)
    const wrongs = [
      ...wrongsOfGoods(judged, facts),
      ...wrongsOfBooks(facts),
      ...wrongsOfAmounts(judged, facts),
      ...(await wrongsOfLinks(judged, links, facts)),
      ...(await wrongsOfRefunds(judged, facts)),
    ]
    for (const words of wrongs) violations.push({ purchase: purchase.number, words })
    books += facts.income - facts.paidBack
  }
  const balance = chain.balance(payTo)
  if (books !== balance)
    violations.push({ purchase: -1, words: `the books have ${books}, the chain ${balance}` })
  return violations
}

/** Whether something is wrong that no time will mend. */
export function isWrongAlready(
  { chain, madeTwice }: Pick<Judged, 'chain' | 'madeTwice'>,
  { signed, path, kind, received, shownFor, isStolen, isEarly }: Purchase,
): boolean {
  const isFree = path.startsWith('/free') && shownFor.size === 1 && kind !== 'overtaken'
  return (
    isStolen ||
    isEarly ||
    received.size > 1 ||
    madeTwice.has(signed.nonce) ||
    (isFree && chain.everUsed.has(signed.nonce))
  )
}

/** A purchase, as the chain and the ledger have it in the end. */
interface Facts {
  readonly purchase: Purchase
  readonly record: LedgerRecord | undefined
  /** What it was taken for. */
  readonly path: Path
  /** How the chain has its transfer. */
  readonly use: Use | undefined
  readonly isUsed: boolean
  /** Whether its handler has charged nothing. */
  readonly isUncharged: boolean
  /** A stranger's transaction is not ours to send again, and what a reorganisation undoes of it stays undone. */
  readonly isUndone: boolean
  /** What the merchant has of it (units). */
  readonly income: bigint
  readonly paidBack: bigint
}

async function factsOf(judged: Judged, purchase: Purchase): Promise<Facts> {
  const { chain, payTo } = judged
  const { signed, refunds, overtakenBy } = purchase
  const record = await find(judged, signed)
  const use = chain.useOf(signed.from, signed.nonce)
  const isUsed = use !== undefined
  return {
    purchase,
    record,
    path: pathOf(record) ?? purchase.path,
    use,
    isUsed,
    isUncharged: !isUsed && record?.state === 'settled' && amountOf(record) === 0n,
    isUndone: !isUsed && record?.state === 'settled' && record.transaction === overtakenBy,
    income: isUsed && signed.to === payTo ? use.amount : 0n,
    paidBack: refunds
      .filter((refund) => isOnChain(chain, refund))
      .reduce((sum, { value }) => sum + value, 0n),
  }
}

function isOnChain(chain: Chain, { from, nonce }: Signed): boolean {
  return chain.useOf(from, nonce) !== undefined
}

function find({ ledger }: Judged, signed: Signed): Promise<LedgerRecord | undefined> {
  const [from, nonce] = [signed.from as Hex, signed.nonce as Hex]
  return ledger.payments.find({ chainId: 84532, contract: signed.contract, from, nonce })
}

function pathOf(record: LedgerRecord | undefined): Path | undefined {
  const url = record?.details?.resource
  return url === undefined ? undefined : (new URL(url).pathname as Path)
}

function wrongsOfGoods(
  { madeTwice, payTo }: Judged,
  { purchase, path, isUsed, isUndone, isUncharged, income }: Facts,
): readonly string[] {
  const { signed, received, kind, shownFor, isInsistent, isCut, isEarly } = purchase
  const wrongs: string[] = []
  const isFree = path.startsWith('/free')
  // Taken for something else, it is not what its buyer goes on asking for.
  const isUsual = kind !== 'altered' && kind !== 'overtaken' && !isFree && path === purchase.path
  if (income > 0n && isUsual && isInsistent && !isCut && received.size === 0)
    wrongs.push('has paid and got nothing, though no answer was lost')
  if (kind === 'late' && received.size === 0 && !isFree)
    wrongs.push('came once nothing went wrong any more, and got nothing')
  if (isEarly) wrongs.push('was served before the chain had its payment')
  if (purchase.isStolen) wrongs.push('was copied, and a stranger got what it buys')
  if (received.size > 1) wrongs.push(`bought ${received.size} goods`)
  if (madeTwice.has(signed.nonce)) wrongs.push('had two requests at work for it at the same time')
  if (received.size > 0 && signed.to !== payTo) wrongs.push('was served for paying somebody else')
  if (!shownFor.has(path)) wrongs.push(`was taken for ${path}`)
  for (const one of received) {
    if (!isUsed && !isUndone && !isUncharged) wrongs.push('was served, and has not paid')
    if (!one.startsWith(`${path} `)) wrongs.push(`bought ${one} in place of ${path}`)
    if (!isLink(path) && !one.includes(signed.nonce)) wrongs.push(`got the good of another: ${one}`)
    if (kind === 'altered' && signed.value !== priceOf(path)) wrongs.push('got it for less')
  }
  if (isFree && isUsed && kind !== 'overtaken') wrongs.push('has paid for what is free')
  return wrongs
}

function wrongsOfBooks(facts: Facts): readonly string[] {
  const { purchase, record, isUsed, isUndone, isUncharged, income } = facts
  const { kind } = purchase
  const state = record?.state
  const wrongs: string[] = []
  if (state === 'submitted') wrongs.push('is still open, though all is over')
  if (state === 'settled' && !isUsed && !isUndone && !isUncharged)
    wrongs.push('is settled in the ledger alone')
  if (income > 0n && state !== 'settled' && kind !== 'altered' && kind !== 'overtaken')
    wrongs.push(`has paid, and the ledger has it as ${state ?? 'unknown'}`)
  return wrongs
}

function wrongsOfAmounts(
  { chain, charges }: Judged,
  { purchase, path, record, use, isUncharged }: Facts,
): readonly string[] {
  const { signed, received } = purchase
  const wrongs: string[] = []
  const moved = use?.amount ?? 0n
  if (use !== undefined && record?.state === 'settled') {
    // A reorganisation may have put another of our transactions in its place while nobody looked.
    const isNamed = record.transaction === use.transaction
    if (!isNamed && chain.find(record.transaction ?? '') !== undefined)
      wrongs.push(`was paid by ${use.transaction}, and the ledger names ${record.transaction}`)
    if (amountOf(record) !== moved)
      wrongs.push(`has paid ${moved}, and the ledger has ${amountOf(record)}`)
  }
  if (path !== '/metered' || (use === undefined && !isUncharged)) return wrongs
  if (charges.get(signed.nonce)?.has(moved) !== true)
    wrongs.push(`has paid ${moved}, which no handler has charged`)
  for (const one of received)
    if (!one.includes(`"charged":"${moved}"`)) wrongs.push(`has paid ${moved}, and got ${one}`)
  return wrongs
}

/** @param links - Those that other payments have paid. */
async function wrongsOfLinks(
  { ledger }: Judged,
  links: Set<Path>,
  { purchase, path, record, income }: Facts,
): Promise<readonly string[]> {
  // What a stranger has sent asks for no link.
  if (!isLink(path) || record?.state !== 'settled' || income === 0n) return []
  if (purchase.kind === 'overtaken' && purchase.received.size === 0) return []
  const wrongs = links.has(path) ? ['has paid a link that another payment has paid'] : []
  links.add(path)
  const status = (await ledger.checkouts.find(path.slice('/pay/'.length)))?.status
  if (status !== 'paid') wrongs.push(`has paid a link that is ${status ?? 'unknown'}`)
  return wrongs
}

async function wrongsOfRefunds(
  judged: Judged,
  { purchase, income, paidBack }: Facts,
): Promise<readonly string[]> {
  const wrongs: string[] = []
  if (paidBack > income) wrongs.push(`has paid ${income}, and ${paidBack} was paid back`)
  for (const refund of purchase.refunds) {
    const state = (await find(judged, refund))?.state
    const isPaid = isOnChain(judged.chain, refund)
    if (state === 'submitted') wrongs.push('has a refund that is still open')
    if ((state === 'settled') !== isPaid)
      wrongs.push(`has a refund that the ledger has as ${state ?? 'unknown'}; paid: ${isPaid}`)
  }
  return wrongs
}
