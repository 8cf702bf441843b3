import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { headingsOf, page, ROOT } from './documents.js'

const rules = readFileSync(join(ROOT, 'example-app/monitoring/prometheus-rules.yaml'), 'utf8')
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name)

describe('the runbook', () => {
  it('has a heading for every alert, and for no other', () => {
    expect(alerts.length).toBeGreaterThan(8)
    const headings = headingsOf(page('runbook.md').prose)
    expect(headings.filter((heading) => heading.startsWith('X402'))).toEqual(alerts)
  })

  it('is linked from every alert, at its heading', () => {
    const linked = [...rules.matchAll(/runbook_url: \S+\/runbook\.md#:~:text=%23%23%20(\w+)$/gm)]
    expect(linked.map(([, name]) => name)).toEqual(alerts)
  })
})
