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
 * 8. Once nothing goes wrong any more, everybody is served. Every failure has a name.
 */
import { amountOf, type LedgerRecord, type LedgerStore } from '../../src/ledger/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { authorizationOf } from '../faults/authorization.js'
import { findViolations, type Evidence, type Transfer } from '../faults/oracle.js'
import { addressWord, TRANSFER } from '../../src/core/chain/abi.js'
import { TOKEN, type Chain, type Log, type Mined, type Signed, type Use } from './chain.js'
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
  /** What gateways tell of requests. */
  readonly processes: Evidence['processes']
  /** Transactions that a facilitator has sent. */
  readonly sentElsewhere: ReadonlySet<string>
  readonly payTo: string
}

export async function judge(judged: Judged): Promise<Violation[]> {
  const { chain, purchases, payTo } = judged
  const violations: Violation[] = []
  const links = new Set<Path>()
  const known: Facts[] = []
  let books = 0n
  for (const purchase of purchases) {
    const facts = await factsOf(judged, purchase)
    known.push(facts)
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
  violations.push(...wrongsByOthers(judged, known))
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
  /** A transaction of a stranger or of a facilitator is not ours to send again, and what a reorganisation undoes of it stays undone. */
  readonly isUndone: boolean
  /** What the merchant has of it (units). */
  readonly income: bigint
  readonly paidBack: bigint
}

async function factsOf(judged: Judged, purchase: Purchase): Promise<Facts> {
  const { chain, payTo, sentElsewhere } = judged
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
    isUndone:
      !isUsed &&
      [...(chain.everUsed.get(signed.nonce) ?? [])].some(
        (one) => one === overtakenBy || sentElsewhere.has(one),
      ),
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
  { purchase, path, isUsed, isUndone, isUncharged }: Facts,
): readonly string[] {
  const { signed, received, kind, shownFor, isEarly } = purchase
  const wrongs: string[] = []
  const isFree = path.startsWith('/free')
  if (kind === 'late' && received.size === 0 && !isFree)
    wrongs.push('came once nothing went wrong any more, and got nothing')
  if (isEarly) wrongs.push('was served before the chain had its payment')
  if (purchase.isUnnamed) wrongs.push('was answered with an error that says nothing')
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
  return wrongs
}

function wrongsOfBooks({ purchase, record, income }: Facts): readonly string[] {
  const { kind } = purchase
  const state = record?.state
  const wrongs: string[] = []
  if (state === 'submitted') wrongs.push('is still open, though all is over')
  if (income > 0n && state !== 'settled' && kind !== 'altered' && kind !== 'overtaken')
    wrongs.push(`has paid, and the ledger has it as ${state ?? 'unknown'}`)
  return wrongs
}

function wrongsOfAmounts({ chain }: Judged, { purchase, record, use }: Facts): readonly string[] {
  const wrongs: string[] = []
  if (use !== undefined && record?.state === 'settled') {
    // A reorganisation may have put another of our transactions in its place while nobody looked. And Permit2 does not
    // log nonces: equal payments of a payer may be taken for one another.
    const isNamed = record.transaction === use.transaction
    const named = isNamed ? undefined : chain.find(record.transaction ?? '')
    if (named !== undefined && !hasEqual(named, purchase.signed))
      wrongs.push(`was paid by ${use.transaction}, and the ledger names ${record.transaction}`)
  }
  return wrongs
}

function hasEqual({ logs }: Mined, { contract, from, value }: Signed): boolean {
  const isEqual = ({ topics: [topic, payer], data }: Log): boolean =>
    topic === TRANSFER && payer === `0x${addressWord(from as Hex)}` && BigInt(data) === value
  return contract !== TOKEN && logs.some(isEqual)
}

/**
 * The rules of the fault tests, for payments that only their buyer has sent, and that no reorganisation has undone for
 * good. One that a facilitator has sent may come back after its buyer was told that it had failed.
 */
function wrongsByOthers(
  { processes, sentElsewhere }: Judged,
  known: readonly Facts[],
): readonly Violation[] {
  const usual = known.filter(
    ({ purchase: { kind }, isUndone, record, use }) =>
      kind !== 'altered' &&
      kind !== 'overtaken' &&
      !isUndone &&
      !(record?.paidLate === true && sentElsewhere.has(use?.transaction ?? '')),
  )
  const numbers = new Map(usual.map(({ purchase }) => [nameOf(purchase), purchase.number]))
  const worth = (which: (signed: Signed) => boolean) =>
    new Map(
      usual
        .filter(({ purchase: { signed } }) => which(signed))
        .map(({ purchase }) => [nameOf(purchase), purchase.signed.value]),
    )
  return findViolations({
    // Somebody may ask on for something else than what it was taken for.
    answers: usual.flatMap(({ purchase, path }) =>
      purchase.answers.filter((answer) => answer.path === path || answer.delivered),
    ),
    transfers: usual.flatMap(({ purchase, use }): readonly Transfer[] => {
      if (use === undefined) return []
      const [from, transaction] = [purchase.signed.from as Hex, use.transaction as Hex]
      return [{ authorization: nameOf(purchase), from, transaction, value: use.amount }]
    }),
    records: usual.flatMap(({ record }) => record ?? []),
    price: 0n,
    prices: worth(({ metered }) => metered === undefined),
    maxima: worth(({ metered }) => metered !== undefined),
    processes,
  }).map((words) => ({ purchase: numbers.get(/0x\w+:0x\w+/.exec(words)![0]) ?? -1, words }))
}

function nameOf({ signed }: Purchase): string {
  return authorizationOf(signed)
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
  { purchase, income, paidBack, isUndone }: Facts,
): Promise<readonly string[]> {
  const wrongs: string[] = []
  if (paidBack > income && !isUndone)
    wrongs.push(`has paid ${income}, and ${paidBack} was paid back`)
  for (const refund of purchase.refunds) {
    const state = (await find(judged, refund))?.state
    const isPaid = isOnChain(judged.chain, refund)
    if (state === 'submitted') wrongs.push('has a refund that is still open')
    if ((state === 'settled') !== isPaid)
      wrongs.push(`has a refund that the ledger has as ${state ?? 'unknown'}; paid: ${isPaid}`)
  }
  return wrongs
}
