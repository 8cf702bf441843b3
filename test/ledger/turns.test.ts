import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { LedgerStore } from '../../src/ledger/index.js'
import { storeMakers, type Store } from '../hostile/stores.js'
import { findPostgres } from '../support/postgres.js'

const postgres = await findPostgres()
const makers = storeMakers.filter(([name]) => name !== 'PostgreSQL' || postgres !== undefined)

describe.each(makers)('turns in %s', (name, make) => {
  let store: Store
  let ledger: LedgerStore
  beforeEach(async () => {
    store = (await make())!
    ledger = store.open()
  })
  afterEach(async () => {
    await ledger.close()
    await store.drop()
  })
  const take = async (mayTake = true) => ledger.turns.take('/a', 4, mayTake)
  const takeAll = async (count: number, mayTake = true) => {
    let taken = 0
    for (let turn = 0; turn < count; turn++) taken += Number(await take(mayTake))
    return taken
  }

  it('are the first one, and each fourth after it', async () => {
    const turns: boolean[] = []
    for (let payment = 0; payment < 9; payment++) turns.push(await take())
    const once = [true, false, false, false]
    expect(turns).toEqual([...once, ...once, true])
  })

  it('are counted once, however many ask at the same moment', async () => {
    const other = name === 'memory' ? ledger : store.open()
    const asked = Array.from({ length: 200 }, (_, index) =>
      (index % 2 === 0 ? ledger : other).turns.take('/a', 4, true),
    )
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(50)
    if (other !== ledger) await other.close()
  })

  it('are taken later, where they could not be taken or came to nothing', async () => {
    expect(await takeAll(8, false)).toBe(0)
    expect(await takeAll(4)).toBe(3)
    await ledger.turns.giveBack('/a', 4)
    expect(await takeAll(2)).toBe(2)
    expect(await takeAll(2)).toBe(0)
    expect(await takeAll(1)).toBe(1)
  })

  it('are those of one route and share', async () => {
    expect(await takeAll(2)).toBe(1)
    expect(await ledger.turns.take('/b', 4, true)).toBe(true)
    expect(await ledger.turns.take('/a', 10, true)).toBe(true)
  })
})
