import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { Database } from '../../support/sqlite.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { offerOf, openCore, termsOf, type Core } from '../../support/core.js'
import { useDevnet } from '../../support/devnet.js'
import { signPayment } from '../../support/sign-payment.js'
import { temporaryFolder, useCleanup } from '../../support/cleanup.js'
import { stopMining } from '../../support/mining.js'

const devnet = useDevnet()
const toEnd = useCleanup()

function open(ledger: LedgerStore): Core {
  const core = openCore(devnet, { ledger, settleTimeoutMs: 60_000 })
  toEnd.push(
    () => ledger.close(),
    () => core.close(),
  )
  return core
}

describe('a payment that another process has sent', () => {
  it.each([
    [0, 'settlement_pending', 'pending'],
    [5, 'settlement_pending', 'pending'],
  ] as const)('and whose hold it renewed %d s ago is %s', async (seconds, errorReason, event) => {
    const folder = temporaryFolder(toEnd)
    const file = join(folder, 'ledger.db')
    // It renews nothing while this test lasts.
    const silent = open(openSqliteLedger(file, { lockMs: 10_000_000 }))
    const payment = await signPayment(devnet.payers[0]!, offerOf(devnet))
    await stopMining(devnet)
    const settling = silent.facilitator.settle(payment, offerOf(devnet), termsOf(devnet))
    const { transaction } = await silent.until('submitted')
    const database = new Database(file)
    const lockedUntil = Date.now() + 30_000 - seconds * 1000
    database.exec('PRAGMA busy_timeout = 30000')
    database.exec(`UPDATE x402_authorizations SET locked_until = ${lockedUntil}`)
    database.close()

    const other = open(openSqliteLedger(file))
    const answer = await other.facilitator.settle(payment, offerOf(devnet), termsOf(devnet))
    expect(answer).toMatchObject({ success: false, errorReason, transaction })
    expect(other.happened()).toEqual([event])
    await devnet.mine()
    expect(await settling).toMatchObject({ success: true, transaction })
  })
})
