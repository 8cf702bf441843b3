/** Results of paid tools that their client's SDK refuses once they were paid for. */
import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { useShop } from '../support/shop.js'
import { GENERATIONS, getsResult, openToolClient, type Tools } from '../support/tool-shop.js'

const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)
const shop = useShop(devnet, () => undefined)

const said = (text: string) => ({ content: [{ type: 'text', text }] })
const results: Record<string, { output: never; structured: object }> = {
  extra: { output: { c: z.number() } as never, structured: { c: 1, more: 2 } },
  extraobj: { output: z.object({ c: z.number() }) as never, structured: { c: 1, more: 2 } },
  default: { output: { c: z.number().default(3) } as never, structured: {} },
  coerced: { output: { c: z.coerce.number() } as never, structured: { c: '3' } },
  date: { output: { c: z.any() } as never, structured: { c: new Date() } },
  big: { output: { c: z.any() } as never, structured: { c: 1n } },
  nested: {
    output: { c: z.object({ a: z.number() }) } as never,
    structured: { c: { a: 1, b: 2 } },
  },
  optional: {
    output: { c: z.number(), d: z.string().optional() } as never,
    structured: { c: 1, d: undefined },
  },
  optionalobj: {
    output: z.strictObject({
      c: z.number(),
      d: z.string().optional(),
      e: z.record(z.string(), z.number()),
    }) as never,
    structured: { c: 1, d: undefined, e: { f: 1 } },
  },
  loose: { output: z.looseObject({ c: z.number() }) as never, structured: { c: 1, more: 2 } },
}
const tools: Tools = (server, paidTool) => {
  for (const [name, { output, structured }] of Object.entries(results))
    paidTool(server, name, { price: '$0.01', output }, () => ({
      ...said('x'),
      structuredContent: structured,
    }))
}

/** Those that their clients take. */
const SOLD = new Set(['date', 'optional', 'optionalobj', 'loose'])

describe.each(GENERATIONS)('%s', (generation) => {
  it.each(Object.keys(results))('is charged only if its client gets it: %s', async (name) => {
    const client = await openToolClient(shop.gateway.paidTool, tools, generation)
    try {
      // Clients check results by the schemas that they know.
      await client.listed()
      const before = await earned()
      const isSold = await getsResult(client, name, devnet.payers[0]!)
      const charged = (await earned()) - before
      expect([name, isSold, charged]).toEqual([name, SOLD.has(name), isSold ? 10_000n : 0n])
    } finally {
      await client.close()
    }
  })
})
