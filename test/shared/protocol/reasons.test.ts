import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { reasons } from '../../../src/shared/protocol/reasons.js'

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('reasons.ts'))
  .map((file) => readFileSync(join('src', file), 'utf8'))
  .join('\n')

describe('the reasons', () => {
  it('are each listed once, spelt as in x402', () => {
    expect(new Set(reasons).size).toBe(reasons.length)
    for (const reason of reasons) expect(reason).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/)
  })

  it.each(reasons.map((reason) => [reason]))('are each used somewhere: %s', (reason) => {
    expect(sources).toContain(`'${reason}'`)
  })
})
