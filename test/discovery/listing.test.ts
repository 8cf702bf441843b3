import { describe, expect, it } from '@jest/globals'
import { readListing } from '../../src/discovery/listing.js'
import type { PaymentRequirements } from '../../src/protocol/payment.js'

const entry = {
  scheme: 'exact',
  network: 'eip155:84532',
  amount: '10000',
  payTo: `0x${'cd'.repeat(20)}`,
  maxTimeoutSeconds: 300,
  asset: `0x${'ab'.repeat(20)}`,
  extra: { name: 'USDC', version: '2' },
} satisfies PaymentRequirements

const resource = { url: 'https://shop.example/weather' }
const bazaar = { info: { input: { type: 'http', method: 'GET' } } }

const listedOf = (requirements: PaymentRequirements) => {
  const read = readListing({ resource, bazaar, entry: requirements })
  return read.ok ? read.listing : undefined
}

describe('a listing', () => {
  it('has the terms that were paid', () => {
    expect(listedOf(entry)?.accepts).toEqual([entry])
  })

  it('names the network in full, though a buyer of version 1 has named it in short', () => {
    expect(listedOf({ ...entry, network: 'base-sepolia' })?.accepts).toEqual([entry])
  })

  it('names how the token is moved, and who may charge for it', () => {
    const extra = { assetTransferMethod: 'permit2', facilitatorAddress: `0x${'ef'.repeat(20)}` }
    const metered = { ...entry, scheme: 'upto', extra: { ...entry.extra, ...extra } }
    expect(listedOf(metered)?.accepts).toEqual([metered])
    const odd = { ...entry.extra, assetTransferMethod: 'other', facilitatorAddress: '0x12' }
    expect(listedOf({ ...metered, extra: odd })?.accepts).toEqual([
      { ...metered, extra: entry.extra },
    ])
  })

  it('keeps nothing else of them, of whatever size', () => {
    const junk = 'x'.repeat(60_000)
    const larger = { ...entry, outputSchema: junk, extra: { ...entry.extra, offerId: 'o', junk } }
    expect(listedOf(larger)?.accepts).toEqual([entry])
    const odd = { ...entry, extra: { name: junk, version: { junk } } }
    expect(JSON.stringify(listedOf(odd)).length).toBeLessThan(1000)
  })
})
