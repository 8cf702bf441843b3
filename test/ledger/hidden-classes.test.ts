import { describe, expect, it } from '@jest/globals'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { boundDetails } from '../../src/ledger/payment-details.js'
import { haveSameClass } from '../support/hidden-classes.js'
import { newEntry } from './ledger-conformance.js'

/** So many that V8 has optimised what makes them: only then does it give each a class of its own. */
const MANY = 20_000

describe('what is kept of thousands of payments has one hidden class', () => {
  it('as their details', () => {
    const details = Array.from({ length: MANY }, (_, index) =>
      boundDetails({ resource: `https://shop.example/${index}`, method: 'GET', decimals: 6 }),
    )
    expect(haveSameClass(details.at(-2)!, details.at(-1)!)).toBe(true)
  })

  it('as what is watched for reorganisations', async () => {
    const ledger = createMemoryLedger()
    for (let index = 0; index < MANY; index++) {
      const entry = newEntry()
      await ledger.reserve(entry)
      await ledger.markSettled(entry, `0x${'77'.repeat(32)}`)
    }
    const watched = await ledger.listFinal({ state: 'settled', withinMs: 60_000, limit: MANY })
    expect(watched).toHaveLength(MANY)
    expect(haveSameClass(watched.at(-2)!, watched.at(-1)!)).toBe(true)
    await ledger.close()
  })
})
