/** What the probes respond with, and what checks of the gateway's surroundings find. */
import { z } from 'zod'
import { component } from '../components.js'

/** Members of a finding. */
export const findingMembers = {
  subject: z.string().meta({
    description: 'What it is about.',
    examples: ['ledger', 'network', 'relayer'],
  }),
  status: z.enum(['ok', 'warning', 'error']).meta({
    description:
      '`warning`: payments work, but somebody should look. `error`: some payments do not work.',
  }),
  code: z.string().meta({
    description: 'What was found, for programs; `ok` where all is well.',
    examples: ['ok', 'chain_unreachable'],
  }),
  message: z.string().meta({ description: 'What was found and what to do, for people.' }),
  network: z.string().optional().meta({ description: 'The network (CAIP-2).' }),
  address: z.string().optional().meta({ description: 'The relayer, or the token’s contract.' }),
  symbol: z.string().optional().meta({ description: 'The token’s symbol.' }),
  project: z.string().optional().meta({ description: 'Id of the project.' }),
  balance: z.string().optional().meta({ description: 'What a relayer has, in wei.' }),
  settlements: z.int().optional().meta({
    description: 'About how many settlements the balance pays for.',
  }),
  pending: z.int().optional().meta({ description: 'Transactions that are not mined.' }),
  block: z.int().optional().meta({ description: 'Number of the latest block.' }),
  blockAgeSeconds: z.int().optional().meta({ description: 'Age of the latest block in seconds.' }),
}

/** `GET /livez`. */
export const probeStatus = component(
  'ProbeStatus',
  z
    .object({ status: z.literal('ok').meta({ description: 'The process runs.' }) })
    .meta({ description: 'That the process runs.' }),
)

/** `GET /readyz`. */
export const readiness = component(
  'Readiness',
  z
    .object({
      status: z.enum(['ok', 'unavailable']).meta({ description: 'Whether payments can be taken.' }),
      checks: z
        .array(
          component(
            'Finding',
            z.object(findingMembers).meta({ description: 'What a check has found.' }),
          ),
        )
        .meta({ description: 'What was found, good and bad.' }),
    })
    .meta({ description: 'Whether payments can be taken, and why not.' }),
)
