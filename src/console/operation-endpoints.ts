/** `/api/v2/admin/relayers` and `networks`. Both are empty with a remote facilitator. */
import { defineEndpoint } from '../router/define-endpoint.js'
import type { AdminContext } from './context.js'
import { lazyDocuments } from '../router/lazy-documents.js'

const documents = lazyDocuments(() => import('./documents.js'))

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
