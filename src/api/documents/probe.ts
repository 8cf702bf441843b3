/** Answers of the probes, and findings of the gateway's checks. */
import { z } from 'zod'
import { document } from './component.js'
import { integer, list, text } from './fields.js'

export const findingMembers = {
  subject: text('What it is about.', 'ledger', 'network', 'relayer'),
  status: z.enum(['ok', 'warning', 'error']).meta({
    description:
      '`warning`: payments work, but somebody should look. `error`: some payments do not work.',
  }),
  code: text('What was found, for programs; `ok` where all is well.', 'ok', 'chain_unreachable'),
  message: text('What was found and what to do, for people.'),
  network: text('The network (CAIP-2).').optional(),
  address: text('The relayer, or the token’s contract.').optional(),
  symbol: text('The token’s symbol.').optional(),
  project: text('Id of the project.').optional(),
  balance: text('What a relayer has, in wei.').optional(),
  settlements: integer('About how many settlements the balance pays for.').optional(),
  pending: integer('Transactions that are not mined.').optional(),
  block: integer('Number of the latest block.').optional(),
  blockAgeSeconds: integer('Age of the latest block in seconds.').optional(),
}

export const probeStatus = document('ProbeStatus', 'That the process runs.', {
  status: z.literal('ok').meta({ description: 'The process runs.' }),
})

export const readiness = document('Readiness', 'Whether payments can be taken, and why not.', {
  status: z.enum(['ok', 'unavailable']).meta({ description: 'Whether payments can be taken.' }),
  checks: list(
    'What was found, good and bad.',
    document('Finding', 'What a check has found.', findingMembers),
  ),
})
