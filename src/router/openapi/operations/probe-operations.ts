/** `/livez` and `/readyz`, where the app has mounted them. */
import { probeStatus, readiness } from '../documents/probe.js'
import type { Operations } from '../operation.js'

/** The probes of `healthRouter`. */
export const probeOperations: Operations = {
  'GET /livez': {
    id: 'isAlive',
    tag: 'Probes',
    access: 'anyone',
    summary: 'Find out whether the process runs',
    description: 'Asks nothing outside the process.',
    responses: { 200: { description: 'It runs.', document: probeStatus } },
    problems: [],
  },
  'GET /readyz': {
    id: 'isReady',
    tag: 'Probes',
    access: 'anyone',
    summary: 'Find out whether payments can be taken',
    description:
      'Checks the ledger, each network and its relayers, or the remote facilitator: every 3 s at most, however often it is asked. It answers within a second.',
    responses: {
      200: { description: 'Payments can be taken.', document: readiness },
      503: {
        description: 'They cannot; `checks` says why.',
        document: readiness,
        headers: ['Retry-After'],
      },
    },
    problems: [],
  },
}
