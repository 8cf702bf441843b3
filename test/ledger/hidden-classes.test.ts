import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { expect, it } from '@jest/globals'
import { PaymentRecords } from '../../src/ledger/memory/payment-records.js'
import { boundDetails } from '../../src/ledger/payment-details.js'
import { recordId } from '../../src/ledger/record.js'
import { newEntry, SUBMISSION } from './ledger-conformance.js'

/** So many that V8 has optimised what makes them: only then does it make hidden classes for each. */
const MANY = 20_000

setFlagsFromString('--allow-natives-syntax')
const haveSameClass = runInThisContext('(one, other) => %HaveSameMap(one, other)') as (
  one: object,
  other: object,
) => boolean

it('keeps all records of a state in one hidden class, and their details in another', () => {
  const payments = new PaymentRecords({ maxRecords: MANY, now: Date.now })
  const records = Array.from({ length: MANY }, (_, index) => {
    const resource = `https://shop.example/${index}`
    const details = boundDetails({ resource, method: 'GET', route: '/:id', decimals: 6 })
    const entry = { ...newEntry(), details }
    payments.create(entry, { locked: true })
    payments.move(entry, { state: 'submitted', submission: SUBMISSION })
    payments.move(entry, { state: 'settled', transaction: SUBMISSION.transaction, transfer: 'x' })
    const settled = payments.records.get(recordId(entry))
    if (settled !== undefined) payments.update({ ...settled, delivered: true })
    return payments.records.get(recordId(entry))!
  })

  const [first, last] = [records.at(-MANY / 2)!, records.at(-1)!]
  expect(last).toMatchObject({ state: 'settled', delivered: true, transfer: 'x' })
  expect(haveSameClass(first, last)).toBe(true)
  expect(haveSameClass(first.details!, last.details!)).toBe(true)
})
