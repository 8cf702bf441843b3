/** What must hold of each visit, by what clients were told and by what the gateways' processes saw. */
import type { Answer, Evidence } from './oracle.js'
import type { VisitReport } from './gateway-process.js'

/** What the oracle asks of visits. */
interface VisitRules {
  /** Authorizations, by what must not be. */
  readonly violations: ReadonlyMap<string, readonly string[]>
  /** Whether what was paid for may have been let out by this visit, although its client has nothing. */
  mayBeLost(answer: Answer): boolean
  /** What handlers and settlements have said that a payment is to be charged, in token units. */
  charges(authorization: string): ReadonlySet<bigint>
  /** What its process says of a visit, for people. */
  seen(answer: Answer): string
}

/** What is known of one visit from both of its ends. */
interface SeenVisit {
  readonly answer: Answer
  readonly reports: readonly VisitReport[]
  /** Its process was ended as deployments do, or killed. */
  readonly process: 'running' | 'stopped' | 'killed'
}

const isUpfront = ({ path }: Answer): boolean => /stream|upfront/.test(path)

/** Judges visits, by the payments that paid or cost nothing. Answers without a good in them are judged by the other rules alone. */
export function visitRules(
  { answers, processes }: Evidence,
  paid: ReadonlySet<string>,
): VisitRules {
  const charges = new Map<string, Set<bigint>>()
  const visits = new Map<string, SeenVisit>()
  const reportsOf = new Map<string, VisitReport[]>()
  const processOf = new Map<string, SeenVisit['process']>()
  for (const { visits: told, endedBy } of processes) {
    const process = endedBy === undefined ? 'running' : endedBy === 'SIGKILL' ? 'killed' : 'stopped'
    for (const report of told) {
      processOf.set(report.visit, process)
      reportsOf.set(report.visit, [...(reportsOf.get(report.visit) ?? []), report])
    }
  }
  for (const answer of answers) {
    const { visit } = answer
    const reports = reportsOf.get(visit) ?? []
    visits.set(visit, { answer, reports, process: processOf.get(visit) ?? 'running' })
  }

  const violations = new Map<string, string[]>()
  const report = (what: string, { authorization }: Answer): void =>
    void violations.set(what, [...(violations.get(what) ?? []), authorization])

  /** What went out, by authorization: to a client, or into a connection that stood. */
  const goods = new Map<string, Set<string>>()
  const ownerOf = new Map<string, string>()
  const charged = new Set<string>()
  const free = new Map<string, Answer>()
  for (const seen of visits.values()) {
    const { answer } = seen
    const { authorization } = answer
    if (sold(seen)) charged.add(authorization)
    else if (wasFree(seen)) free.set(authorization, answer)
    const said = charges.get(authorization) ?? new Set()
    for (const charge of chargesOf(seen)) charges.set(authorization, said.add(charge))
    if (answer.isFree && answer.transaction !== undefined)
      report('waived, and answered with a transaction', answer)
    if (wasLeft(seen)) report('left without an answer by a process that was stopped', answer)
    for (const good of goodsOf(seen)) {
      if (!paid.has(authorization)) report('let out, but not paid', answer)
      // Payments that are settled together share a transaction.
      if (answer.path === 'settle') continue
      const owner = ownerOf.get(good) ?? authorization
      ownerOf.set(good, owner)
      if (owner !== authorization) report('given what another payment has bought', answer)
      goods.set(authorization, (goods.get(authorization) ?? new Set()).add(good))
      if (goods.get(authorization)!.size === 2) report('worth two goods', answer)
    }
  }
  for (const [authorization, answer] of free)
    if (paid.has(authorization) && !charged.has(authorization))
      report('charged for what is free', answer)

  return {
    violations,
    charges: (authorization) => charges.get(authorization) ?? new Set(),
    seen(answer) {
      const { reports, process } = visits.get(answer.visit) ?? {}
      if (reports === undefined || reports.length === 0) return ''
      const events = reports.map(({ event, status, mood, charge, isFree, isConnected }) =>
        [event, mood, status, charge, isFree && 'free', isConnected === false && 'gone']
          .filter(Boolean)
          .join(' '),
      )
      return `(${process}: ${events.join(', ')})`
    },
    mayBeLost(answer) {
      const seen = visits.get(answer.visit)
      if (seen === undefined) return false
      const { reports, process } = seen
      // The money has moved before the handler runs, whose answer is nowhere to be had but there.
      if (isUpfront(answer))
        return (
          reports.some(({ event }) => event === 'ran') ||
          (answer.status === 0 && process === 'killed') ||
          (answer.reason === 'shutting_down' && answer.transaction !== undefined)
        )
      if (answer.hasKey || answer.status !== 0) return false
      return goodsOf(seen).length > 0 || (process === 'killed' && reports.length > 0)
    },
  }
}

/** The goods of a visit that cost something, as far as they can have arrived. */
function goodsOf({ answer, reports }: SeenVisit): string[] {
  const sent = reports.filter(
    ({ event, status = 0, isFree, isConnected }) =>
      event === 'sent' && status < 400 && isFree !== true && isConnected === true,
  )
  const goods = [...sent, ...(answer.delivered ? [answer] : [])].flatMap(({ good }) => good ?? [])
  return [...new Set(goods)]
}

/** What the handler of a visit, or its settlement, was to take. */
function chargesOf({ answer, reports }: SeenVisit): bigint[] {
  const said = reports.flatMap(({ event, isFree, charge }) =>
    event === 'ran' && !isFree && charge !== undefined ? [BigInt(charge)] : [],
  )
  return answer.charge === undefined ? said : [...said, answer.charge]
}

/** Whether something was made that costs something. Settlements need no handler. */
function sold({ answer, reports }: SeenVisit): boolean {
  return answer.path === 'settle' || reports.some(({ event, isFree }) => event === 'ran' && !isFree)
}

function wasFree({ reports }: SeenVisit): boolean {
  return reports.some(({ event, isFree }) => event === 'ran' && isFree === true)
}

/** Whether a client waited in vain for a process that was asked to stop. */
function wasLeft({ answer, reports, process }: SeenVisit): boolean {
  if (process !== 'stopped' || answer.status !== 0 || answer.gaveUp) return false
  return reports.length > 0 && !reports.some(({ event }) => event === 'sent')
}
