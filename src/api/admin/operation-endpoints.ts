/** `/api/v2/admin/relayers`, `networks` and `gas`. All are empty with a remote facilitator. */
import { GAS_COST, GWEI } from '../../ledger/counters.js'
import { DAY_MS } from '../../ledger/time-zone.js'
import { findNetwork, formatNetwork } from '../../shared/protocol/networks.js'
import { defineEndpoint } from '../serve/define-endpoint.js'
import type { AdminContext } from './context.js'
import { namedProject } from '../serve/owner.js'
import { lazyDocuments } from '../serve/lazy-documents.js'
import { readSpan, shownSpan, spanQuery } from '../settlements/views/view-query.js'
import { projectIdSchema } from './project-ids.js'

const documents = lazyDocuments(() => import('../documents/admin.js'))

const common = { method: 'GET', tag: 'Admin: operations', access: 'admin', scope: 'read' } as const

/** Endpoints for operators alone: relayers and networks. */
export const operationEndpoints = [
  defineEndpoint({
    ...common,
    path: '/api/v2/admin/relayers',
    id: 'listRelayers',
    summary: 'List the accounts that pay for gas',
    description:
      'Balances, how far they go, and pending transactions. Nodes are asked once in 3 s.',
    responses: { 200: { description: 'The relayers.', document: documents('relayerList') } },
    async handle({ operations }: AdminContext) {
      return { relayers: await operations.relayers() }
    },
  }),
  defineEndpoint({
    ...common,
    path: '/api/v2/admin/gas',
    id: 'getGas',
    summary: 'Get what gas has cost for each project',
    description:
      'Wei that relayers have paid for the payments and refunds of each project, in whole days (UTC). Payments that share a transaction share its cost.',
    query: spanQuery.omit({ timeZone: true }).extend({
      project: projectIdSchema.optional().meta({ description: 'Only this project.' }),
    }),
    responses: { 200: { description: 'The sums.', document: documents('gasReport') } },
    async handle(context: AdminContext, { query }) {
      const { ledger, counters, networkNames, now } = context
      const span = readSpan(query, now())
      await counters.flush()
      const sums = await ledger.counts.sumByProject({
        kind: GAS_COST,
        project: query.project,
        fromDay: Math.floor(span.from / DAY_MS),
        toDay: Math.floor((span.until - 1) / DAY_MS),
      })
      const gas = sums.map(({ project, label, count }) => {
        const network = findNetwork(`eip155:${label}`)
        return {
          ...namedProject(context, project),
          project,
          network: network ? formatNetwork(network, networkNames) : `eip155:${label}`,
          wei: (BigInt(count) * GWEI).toString(),
        }
      })
      const { from, to } = shownSpan(span)
      return { from, to, gas }
    },
  }),
  defineEndpoint({
    ...common,
    path: '/api/v2/admin/networks',
    id: 'listNetworks',
    summary: 'List the health of networks',
    description: 'Whether each network’s node works. Nodes are asked once in 3 s.',
    responses: { 200: { description: 'The networks.', document: documents('networkList') } },
    async handle({ operations }: AdminContext) {
      return { networks: await operations.networks() }
    },
  }),
]
