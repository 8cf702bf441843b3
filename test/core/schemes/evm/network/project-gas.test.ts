import { expect, it } from '@jest/globals'
import { ProjectGas } from '../../../../../src/core/schemes/evm/network/project-gas.js'
import { Counters } from '../../../../../src/ledger/counters.js'
import { createMemoryLedger } from '../../../../../src/ledger/memory-ledger.js'
import { useCleanup } from '../../../../support/cleanup.js'

const toEnd = useCleanup()
const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** What projects took, read from a ledger that fails while `isDown` is set. */
function open() {
  const ledger = createMemoryLedger()
  const counters = new Counters({ store: ledger.counts, logger: silent, now: Date.now })
  toEnd.push(() => ledger.close())
  toEnd.push(() => counters.close())
  const state = { isDown: false, reads: 0 }
  const store: typeof ledger.counts = Object.create(ledger.counts)
  store.listCounts = (query) => {
    state.reads++
    return state.isDown ? Promise.reject(new Error('down')) : ledger.counts.listCounts(query)
  }
  const projects = [{ id: 'shop', gasBudget: 1000 }]
  return { state, counters, gas: new ProjectGas({ counters, store, now: Date.now, projects }) }
}

it('fails no payment after the ledger is back', async () => {
  const { state, gas } = open()
  state.isDown = true
  await expect(gas.mayTake('shop', 1n)).rejects.toThrow('down')
  state.isDown = false
  expect(await gas.mayTake('shop', 1n)).toBe(true)
})

it('asks the ledger once for all payments of a moment, and refuses beyond the budget', async () => {
  const { state, counters, gas } = open()
  gas.count('shop', 1000n)
  await counters.flush()
  const asked = await Promise.all([1, 2, 3].map(() => gas.mayTake('shop', 1n)))
  expect([...asked, state.reads]).toEqual([false, false, false, 1])
  expect(await gas.mayTake('shop', 0n)).toBe(true)
})
