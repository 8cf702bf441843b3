import { OPERATOR, type WebhookEndpoint } from '../../ledger/webhooks.js'
import { groupBy } from '../../shared/group-by.js'

/** Attempts at once: in a process, and for all projects together. The rest is for the operator. */
export const MOST_AT_ONCE = 40
const MOST_OF_PROJECTS = 36

/** Attempts at once at endpoints that failed or are slow: half of those for projects. */
const MOST_OF_SUSPECTS = MOST_OF_PROJECTS / 2

/** Attempts at once for one project: a quarter of all. */
const MOST_OF_PROJECT = 10

/** Attempts at once for an endpoint, and for one that failed or was slow. */
const MOST_OF_ENDPOINT = 8
const MOST_OF_SUSPECT = 1

export interface Load {
  underWay: number
  /** The last attempt failed, or one is slow. */
  isSuspect: boolean
  /** Times that it failed one after the other; attempts at once count as one. */
  failures: number
  /** When it is attempted again, by the gateway's clock. */
  restsUntil: number
}

export interface UnderWay {
  readonly attempts: number
  /** Attempts at endpoints that failed or are slow. */
  readonly suspects: number
  readonly ofProject: (project: string) => number
  readonly ofEndpoint: (id: string) => Readonly<Load> | undefined
}

/**
 * Shares out free slots: one per turn to each project, those with the fewest attempts and endpoints first, and within a
 * project to the endpoint with the fewest. No project holds up another, however many or slow its endpoints: half of the
 * slots are for endpoints that answer.
 *
 * @returns How many deliveries may be claimed for each endpoint; endpoints without a slot are left out.
 */
export function sharePlaces(
  due: readonly WebhookEndpoint[],
  underWay: UnderWay,
): ReadonlyMap<WebhookEndpoint, number> {
  const shares = new Map<WebhookEndpoint, number>()
  const shareOf = (endpoint: WebhookEndpoint): number => shares.get(endpoint) ?? 0
  const attemptsOf = (endpoint: WebhookEndpoint): number =>
    (underWay.ofEndpoint(endpoint.id)?.underWay ?? 0) + shareOf(endpoint)
  const isSuspect = ({ id }: WebhookEndpoint): boolean =>
    underWay.ofEndpoint(id)?.isSuspect ?? false
  let { attempts: total, suspects } = underWay
  const hasRoom = (endpoint: WebhookEndpoint, most: number): boolean =>
    isSuspect(endpoint)
      ? attemptsOf(endpoint) < MOST_OF_SUSPECT && suspects < MOST_OF_SUSPECTS && total < most
      : attemptsOf(endpoint) < MOST_OF_ENDPOINT &&
        // An attempt that has become slow takes no place from those that answer.
        total - Math.max(suspects - MOST_OF_SUSPECTS, 0) < most
  let waiting = [...groupBy(due, ({ project }) => project)]
    .map(([project, endpoints]) => ({
      endpoints,
      most: project === OPERATOR ? MOST_AT_ONCE : MOST_OF_PROJECTS,
      attempts: underWay.ofProject(project),
    }))
    .toSorted(
      (one, other) =>
        one.attempts - other.attempts || one.endpoints.length - other.endpoints.length,
    )
  while (waiting.length > 0)
    waiting = waiting.filter((project) => {
      if (project.attempts >= MOST_OF_PROJECT) return false
      const [least] = project.endpoints
        .filter((endpoint) => hasRoom(endpoint, project.most))
        .toSorted((one, other) => attemptsOf(one) - attemptsOf(other))
      if (least === undefined) return false
      shares.set(least, shareOf(least) + 1)
      project.attempts += 1
      total += 1
      if (isSuspect(least)) suspects += 1
      return true
    })
  return shares
}
