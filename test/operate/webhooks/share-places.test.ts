import { describe, expect, it } from '@jest/globals'
import { OPERATOR, WEBHOOK_EVENTS, type WebhookEndpoint } from '../../../src/ledger/webhooks.js'
import { sharePlaces, type Load } from '../../../src/operate/webhooks/share-places.js'

const endpoint = (project: string, id: string): WebhookEndpoint => ({
  id,
  project,
  url: 'https://shop.example/hooks',
  secret: 'whsec_',
  events: WEBHOOK_EVENTS,
  createdAt: 0,
  updatedAt: 0,
})

const endpointsOf = (project: string, count: number): readonly WebhookEndpoint[] =>
  Array.from({ length: count }, (_, index) => endpoint(project, `${project}-${index}`))

/** Shares places out, and sums them by project. */
function share(
  due: readonly WebhookEndpoint[],
  underWay: Readonly<Record<string, number>> = {},
  loads: Readonly<Record<string, Load>> = {},
  suspects = 0,
): Readonly<Record<string, number>> {
  const shares = sharePlaces(due, {
    attempts: Object.values(underWay).reduce((sum, one) => sum + one, 0),
    suspects,
    ofProject: (project) => underWay[project] ?? 0,
    ofEndpoint: (id) => loads[id],
  })
  const sums: Record<string, number> = {}
  for (const [{ project }, places] of shares) sums[project] = (sums[project] ?? 0) + places
  return sums
}

describe('sharePlaces', () => {
  it('gives one project at most a quarter of all slots, however many endpoints it has', () => {
    expect(share(endpointsOf('greedy', 10))).toEqual({ greedy: 10 })
    expect(share(endpointsOf('greedy', 10), { greedy: 7 })).toEqual({ greedy: 3 })
    expect(share(endpointsOf('greedy', 10), { greedy: 10 })).toEqual({})
  })

  it('gives one endpoint eight slots, and a suspected slow one a single slot', () => {
    expect(share([endpoint('shop', 'one')])).toEqual({ shop: 8 })
    const suspect = { underWay: 0, isSuspect: true, failures: 1, restsUntil: 0 }
    expect(share([endpoint('shop', 'one')], {}, { one: suspect })).toEqual({ shop: 1 })
    const busy = { ...suspect, underWay: 1 }
    expect(share([endpoint('shop', 'one')], { shop: 1 }, { one: busy })).toEqual({})
  })

  it('gives the last slot to the project with the fewest, and takes turns among several', () => {
    const due = [...endpointsOf('greedy', 10), ...endpointsOf('shop', 1)]
    expect(share(due, { greedy: 9, others: 26 })).toEqual({ shop: 1 })
    expect(share(due, { others: 34 })).toEqual({ greedy: 1, shop: 1 })
  })

  it('reserves slots for the operator that projects cannot take', () => {
    const due = [...['a', 'b', 'c', 'd', 'e'].flatMap((project) => endpointsOf(project, 10))]
    const total = Object.values(share(due)).reduce((sum, one) => sum + one, 0)
    expect(total).toBe(36)
    const full = { a: 10, b: 10, c: 10, d: 6 }
    expect(share([...due, endpoint(OPERATOR, 'own')], full)).toEqual({ [OPERATOR]: 4 })
  })

  it('gives suspects half of the slots of projects, and the others to endpoints that answer', () => {
    const due = Array.from({ length: 50 }, (_, n) => endpoint(`dead-${n}`, `dead-${n}`))
    const suspect = { underWay: 0, isSuspect: true, failures: 3, restsUntil: 0 }
    const loads = Object.fromEntries(due.map(({ id }) => [id, suspect]))
    expect(Object.keys(share(due, {}, loads))).toHaveLength(18)
    expect(share(due, { others: 18 }, loads, 18)).toEqual({})
    // Attempts that became slow hold more than their half.
    expect(share([endpoint('shop', 'one')], { others: 60 }, {}, 60)).toEqual({ shop: 8 })
    expect(share([endpoint('shop', 'one')], { others: 54 }, {}, 18)).toEqual({})
  })
})
