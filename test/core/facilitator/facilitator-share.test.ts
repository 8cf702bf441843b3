import { expect, it } from '@jest/globals'
import { FacilitatorShare } from '../../../src/core/facilitator/facilitator-share.js'
import type { VerifiedPayment } from '../../../src/core/schemes/evm/verify/verify.js'

it('counts a thousand routes by themselves, and all others together: buyers may make names up', async () => {
  const names = new Set<string>()
  const take = (name: string) => Promise.resolve(names.add(name) && false)
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const facilitator = {} as never
  const ledger = { turns: { take, giveBack: () => Promise.resolve() } }
  const listing = new FacilitatorShare({
    facilitator,
    network: 'eip155:1',
    oneIn: 2,
    ledger,
    logger,
  })
  const [contract, asset] = ['0xaa', '0xAA']
  for (let route = 0; route < 1100; route++) {
    const entry = { scheme: 'exact', contract, asset, details: { route: `/shops/${route}` } }
    await listing.takeTurn({ entry } as unknown as VerifiedPayment)
  }
  expect(names.size).toBe(1001)
})
