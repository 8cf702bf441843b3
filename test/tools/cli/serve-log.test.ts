/** What `serve` logs of its check at start. */
import { describe, expect, it } from '@jest/globals'
import { logCheck } from '../../../src/tools/cli/serve-log.js'
import type { Finding } from '../../../src/operate/health/finding.js'
import { recordLog } from '../../api/api.js'

const ofProject = (project: string, rest: Partial<Finding> = {}): Finding => ({
  ...{ subject: 'project', status: 'ok', code: 'ok', message: `${project} takes prices.`, project },
  ...rest,
})

/** What is logged of findings. */
async function linesOf(found: readonly Finding[]): Promise<readonly string[]> {
  const logger = recordLog()
  const { signal } = new AbortController()
  await logCheck({ check: async () => found }, { logger, signal })
  return logger.lines
}

describe('The check at start', () => {
  const ledger: Finding = { subject: 'ledger', status: 'ok', code: 'ok', message: 'It is there.' }

  it('logs one line for all projects that can be paid, and one for each kind of problem', async () => {
    const fine = Array.from({ length: 250 }, (_, index) => ofProject(`p${index}`))
    const problem = { status: 'warning', code: 'merchant_missing' } as const
    const bare = ['shop-a', 'shop-b'].map((id) =>
      ofProject(id, { ...problem, message: `${id} has none.` }),
    )
    const rates = ['EUR', 'GBP'].map((currency) =>
      ofProject('p1', { code: 'rate_unavailable', status: 'warning', message: `No ${currency}.` }),
    )
    const lines = await linesOf([ledger, ...fine, ...bare, ...rates])
    expect(lines).toEqual([
      expect.stringMatching(/^info It is there\./),
      expect.stringMatching(/^info 250 projects can be paid\./),
      expect.stringMatching(
        /^warn shop-a has none\. The same holds for 2 projects\..*"shop-a","shop-b"/,
      ),
      expect.stringMatching(/^warn No EUR\./),
      expect.stringMatching(/^warn No GBP\./),
    ])
    expect(lines[1]).not.toContain('p20')
  })

  it('logs what was found of one project, and of networks, in full', async () => {
    const network: Finding = { ...ledger, subject: 'network', message: 'A node answers.' }
    const lines = await linesOf([network, network, ofProject('shop')])
    expect(lines).toEqual([
      expect.stringMatching(/^info A node answers\./),
      expect.stringMatching(/^info A node answers\./),
      expect.stringMatching(/^info shop takes prices\..*"project":"shop"/),
    ])
  })
})
