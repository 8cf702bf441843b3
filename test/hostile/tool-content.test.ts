/** Results of paid tools that their client's SDK refuses, whatever `output` says. */
import { describe, expect, it } from '@jest/globals'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { useShop } from '../support/shop.js'
import { GENERATIONS, getsResult, openToolClient, type Tools } from '../support/tool-shop.js'

const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)
const shop = useShop(devnet, () => undefined)

const text = { type: 'text', text: 'x' }
const link = { type: 'resource_link', name: 'n', uri: 'https://a.example/' }
const results: Record<string, object> = {
  nocontent: { structuredContent: { a: 1 } },
  empty: {},
  annotations: { content: [{ ...text, annotations: 5 }] },
  audience: { content: [{ ...text, annotations: { audience: ['robots'] } }] },
  priority: { content: [{ ...text, annotations: { priority: 5 } }] },
  lastModified: { content: [{ ...text, annotations: { lastModified: 'yesterday' } }] },
  blockmeta: { content: [{ ...text, _meta: 5 }] },
  linkdescription: { content: [{ ...link, description: 5 }] },
  linkmime: { content: [{ ...link, mimeType: null }] },
  linksize: { content: [{ ...link, size: 'big' }] },
  linktitle: { content: [{ ...link, title: 5 }] },
  linkicons: { content: [{ ...link, icons: [{ src: 5 }] }] },
  resourcemime: {
    content: [{ type: 'resource', resource: { uri: 'a:b', text: 'x', mimeType: 5 } }],
  },
  resourcemeta: { content: [{ type: 'resource', resource: { uri: 'a:b', text: 'x', _meta: 5 } }] },
  relatedtask: { content: [text], _meta: { 'io.modelcontextprotocol/related-task': 5 } },
  progresstoken: { content: [text], _meta: { progressToken: {} } },
  good: {
    content: [
      {
        ...text,
        annotations: { priority: 1, lastModified: '2026-11-30T10:00:00+01:00' },
        _meta: {},
      },
      {
        ...link,
        size: 3,
        title: 't',
        icons: [{ src: 'a:b', sizes: ['any'] }],
        mimeType: undefined,
      },
      { type: 'resource', resource: { uri: 'a:b', blob: 'AAAA', mimeType: 'a/b', _meta: {} } },
    ],
    _meta: { progressToken: 1 },
  },
  task: { content: [text], task: { taskId: 5 } },
  toolresult: { content: [text], toolResult: 1, resultType: 'complete' },
  metanull: { content: [text], ttlMs: 'x', cacheScope: 5 },
}
/** Those that their clients take. */
const SOLD = new Set(['nocontent', 'empty', 'good', 'task', 'toolresult', 'metanull'])

const tools: Tools = (server, paidTool) => {
  for (const [name, result] of Object.entries(results))
    paidTool(server, name, { price: '$0.01' }, () => result)
}

describe.each(GENERATIONS)('%s', (generation) => {
  it.each(Object.keys(results))('is charged only if its client gets it: %s', async (name) => {
    const client = await openToolClient(shop.gateway.paidTool, tools, generation)
    try {
      const before = await earned()
      const isSold = await getsResult(client, name, devnet.payers[0]!)
      const charged = (await earned()) - before
      expect([name, isSold, charged]).toEqual([name, SOLD.has(name), isSold ? 10_000n : 0n])
    } finally {
      await client.close()
    }
  })
})
