import { expect, it } from '@jest/globals'
import { CodeGas } from '../../../../../src/core/schemes/evm/network/code-gas.js'
import { Deployments } from '../../../../../src/core/schemes/evm/network/deployments.js'
import { PayerGuard } from '../../../../../src/core/schemes/evm/network/payer-guard.js'
import { sendAlone } from '../../../../../src/core/schemes/evm/settle/prepare-transfer.js'
import type { VerifiedPayment } from '../../../../../src/core/schemes/evm/verify/verify.js'
import { Counters } from '../../../../../src/ledger/counters.js'
import { createMemoryLedger } from '../../../../../src/ledger/memory-ledger.js'
import { newEntry } from '../../../../support/ledger-entries.js'

const logger = { debug() {}, info() {}, warn() {}, error() {} }

it('waits for no place once its request is over', async () => {
  const ledger = createMemoryLedger()
  const counters = new Counters({ store: ledger.counts, logger, now: Date.now })
  const codeGas = new CodeGas({ chainId: 84532, counters, store: ledger.counts, now: Date.now })
  const payers = new PayerGuard({ codeGas, payments: ledger.payments, now: Date.now })
  const validBefore = BigInt(Math.floor(Date.now() / 1000) + 300)
  const entry = newEntry({ validBefore })
  const { from } = entry
  for (let others = 0; others < 4; others++)
    await payers.places.take(newEntry({ from }), validBefore)
  const simulation = { codeHash: undefined, succeeds: true, isToken: true, at: performance.now() }
  const payment = {
    network: {
      payers,
      deployments: new Deployments(),
      simulator: { simulate: async () => simulation },
    },
    ...{ asset: {}, key: entry, entry },
    transfer: { facts: { payer: from, validBefore }, signature: { r: '0x', s: '0x', v: 27 } },
  } as unknown as VerifiedPayment
  let isOver = false
  const sending = sendAlone(payment, () => isOver)
  isOver = true
  expect(await sending).toBeUndefined()
  await counters.close()
  await ledger.close()
})
