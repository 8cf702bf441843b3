import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { VARIABLES } from '../../src/gateway/config/read/variables.js'
import { inlineCode, page, ROOT } from './documents.js'

const { prose } = page('configuration.md')
const named = new Set(
  inlineCode(page('configuration.md')).flatMap((code) => code.match(/\w+/g) ?? []),
)

/** The members of an interface, as its source declares them. */
function membersOf(file: string, name: string): readonly string[] {
  const source = readFileSync(join(ROOT, 'src', file), 'utf8')
  const body = new RegExp(`^export interface ${name}\\b.*?\\{\\n(.*?)^\\}`, 'ms').exec(source)?.[1]
  return [...(body ?? '').matchAll(/^ {2}(?:readonly )?(\w+)\??:/gm)].map(([, one = '']) => one)
}

/** The names in the first column of the table below a heading. */
function rowsBelow(heading: string): readonly string[] {
  const section = prose.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\| (`.*?) +\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)/g)].map(([, one = '']) => one),
  )
}

const SECTIONS = [
  {
    heading: 'Options of a gateway',
    members: [
      ...membersOf('gateway/config/options.ts', 'GatewayOptions'),
      ...membersOf('core/schemes/payment-hooks.ts', 'PaymentHooks'),
    ],
  },
  {
    heading: 'Networks and tokens',
    members: membersOf('gateway/config/options/network.ts', 'NetworkOptions'),
  },
  {
    heading: 'Projects and merchants',
    members: [
      ...membersOf('gateway/config/options/merchant.ts', 'ProjectOptions'),
      ...membersOf('gateway/config/options/merchant.ts', 'MerchantOptions'),
    ],
  },
  { heading: 'Options of a route', members: membersOf('sell/route/options.ts', 'ProtectOptions') },
]

describe('the page of the configuration', () => {
  it.each(SECTIONS)('has a row for each option: $heading', ({ heading, members }) => {
    expect(members.length).toBeGreaterThan(4)
    expect([...rowsBelow(heading)].toSorted()).toEqual([...members].toSorted())
  })

  it('names the members of options that are objects', () => {
    const members = [
      ...membersOf('gateway/config/options/network.ts', 'AssetOptions'),
      ...membersOf('gateway/config/options.ts', 'MetricsOptions'),
      ...membersOf('gateway/config/options.ts', 'WebhookOptions'),
      ...membersOf('shared/http/rate-limiter.ts', 'RateLimitOptions'),
      ...membersOf('core/facilitator/http/http-facilitator.ts', 'HttpFacilitatorOptions'),
    ]
    expect(members.length).toBeGreaterThan(15)
    expect(members.filter((one) => !named.has(one))).toEqual([])
  })

  it('has a row for each variable, with the words of the table that they are read by', () => {
    const rows = [...prose.matchAll(/^\| `(X402_\w+)` +\| (.*?) +\|$/gm)]
    expect(rows.map(([, name, about]) => [name, about])).toEqual(
      VARIABLES.map(([name, , about]) => [name, about]),
    )
  })
})
