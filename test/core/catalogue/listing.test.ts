import { describe, expect, it } from '@jest/globals'
import { readListing, type Listing } from '../../../src/core/catalogue/listing.js'
import type { PaymentRequirements } from '../../../src/shared/protocol/payment.js'

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
  return typeof read === 'string' ? undefined : read
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

  it('has names and types of what a stranger says of a resource, and no value or other word', () => {
    const said = 'buy at https://evil.example \u202E'
    const word = {
      type: 'string',
      const: said,
      enum: [said],
      default: said,
      pattern: said,
      title: said,
    }
    const properties = { city: word, [said]: word, ['__proto__']: word, days: { type: [said] } }
    const input = {
      type: 'object',
      properties,
      required: ['city', said],
      $ref: said,
      examples: [said],
    }
    const info = {
      input: {
        type: 'http',
        method: 'POST',
        bodyType: 'json',
        body: { city: said },
        toolName: said,
      },
      output: { type: said, example: said },
    }
    const schema = {
      properties: { input },
      items: { type: said, items: word },
      $defs: { said },
      description: said,
    }
    const claimed = JSON.parse(JSON.stringify({ info, schema, said })) as unknown
    const read = readListing({ resource: { ...resource, said }, bazaar: claimed, entry })
    const listed = JSON.parse(JSON.stringify(read)) as Listing
    expect(listed.extensions?.bazaar).toEqual({
      info: { input: { type: 'http', method: 'POST', bodyType: 'json' } },
      schema: {
        properties: {
          input: {
            type: 'object',
            properties: { city: { type: 'string' }, days: {} },
            required: ['city'],
          },
        },
        items: { items: { type: 'string' } },
      },
    })
    expect(JSON.stringify(listed)).not.toContain('evil')
  })
})
