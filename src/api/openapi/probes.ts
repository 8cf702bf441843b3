/** The probes of `healthRouter`, `/livez` and `/readyz`, which an app mounts where it likes. */
import { Lazy } from '../../shared/http/lazy.js'
import type { Description } from '../serve/define-endpoint.js'
import { probeStatus, readiness } from '../documents/probe.js'

const loaded = <Schema>(schema: Schema) => new Lazy(async () => schema)

export const probes: readonly Description[] = [
  {
    method: 'GET',
    path: '/livez',
    id: 'isAlive',
    tag: 'Probes',
    access: 'anyone',
    summary: 'Find out whether the process runs',
    description: 'Asks nothing outside the process.',
    responses: { 200: { description: 'It runs.', document: loaded(probeStatus) } },
  },
  {
    method: 'GET',
    path: '/readyz',
    id: 'isReady',
    tag: 'Probes',
    access: 'anyone',
    summary: 'Find out whether payments can be taken',
    description:
      'Checks the ledger, each network and its relayers, or the remote facilitator: every 3 s at most, however often it is asked. It answers within a second.',
    responses: {
      200: { description: 'Payments can be taken.', document: loaded(readiness) },
      503: {
        description: 'They cannot; `checks` says why.',
        document: loaded(readiness),
        headers: ['Retry-After'],
      },
    },
  },
]
