import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { sqliteLedger } from '../../src/sql.js'
import { openLinkShop } from '../sell/links/shop.js'
import { temporaryFolder, useCleanup, closedBy } from '../support/cleanup.js'
import { useDevnet } from '../support/devnet.js'
import { Database } from '../support/sqlite.js'

const devnet = useDevnet()
const toEnd = useCleanup()

const DAY_MS = 24 * 3_600_000

describe('an Idempotency-Key of the day before', () => {
  it('makes a link that can be paid', async () => {
    const file = join(temporaryFolder(toEnd), 'ledger.db')
    const shop = closedBy(toEnd, await openLinkShop(devnet, { ledger: sqliteLedger(file) }))
    const body = { amount: '0.05', currency: 'USD', expiresIn: 60 }
    const headers = { 'Idempotency-Key': 'cart-7' }
    const create = () => shop.asMerchant('POST', '/checkouts', body, headers)
    const first = await create()
    // Answers are kept for a day.
    const database = new Database(file)
    database.exec('PRAGMA busy_timeout = 30000')
    database.exec(`DELETE FROM x402_idempotency;
      UPDATE x402_checkouts SET created_at = created_at - ${2 * DAY_MS}, expires_at = expires_at - ${2 * DAY_MS}`)
    database.close()
    const second = await create()
    expect([second.status, second.body.status]).toEqual([201, 'open'])
    expect(second.body.id).not.toBe(first.body.id)
    expect((await create()).body).toEqual(second.body)
  })
})
