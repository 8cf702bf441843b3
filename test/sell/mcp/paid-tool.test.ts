/** Paid tools of MCP servers, by clients that make their payments by hand. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { McpServer as Server1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { McpServer as Server2 } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { settlementOf, useShop } from '../../support/shop.js'
import { until } from '../../support/until.js'
import { GENERATIONS, openToolClient, receiptOf, requiredOf } from '../../support/tool-shop.js'
import type { Answer, ToolClient, Tools } from '../../support/tool-shop.js'

const devnet = useDevnet()
const payer = () => devnet.payers[0]!
const earned = () => balanceOf(devnet, devnet.merchant.address)
const shop = useShop(devnet, (app, gateway) => {
  app.get('/forecast', gateway.x402Protect('$0.01'), (_req, res) => void res.json({ sunny: true }))
})

let ran: string[] = []
beforeEach(() => {
  ran = []
})

/** Lets a handler go on. */
let goOn: () => void = () => undefined

const said = (text: string) => ({ content: [{ type: 'text', text }] })
const city = { city: z.string() }
const tools: Tools = (server, paidTool) => {
  const dear = { price: '$0.01', description: 'The weather of tomorrow', input: city }
  paidTool(server, 'forecast', dear, (args, { x402 }) => {
    ran.push(args.city)
    return said(`${args.city} is sunny for ${x402.payer}`)
  })
  paidTool(server, 'history', { ...dear, title: 'History' }, (args) => said(args.city))
  paidTool(server, 'time', { price: '$0.01' }, () => said('noon'))
  const pages = { pages: z.number().int() }
  const perPage = { price: (args: { pages: number }) => `$${args.pages / 100}`, input: pages }
  paidTool(server, 'print', perPage, (args) => said(`${args.pages} pages`))
  paidTool(server, 'fails', { price: '$0.01' }, () => ({ ...said('no such city'), isError: true }))
  paidTool(server, 'waives', { price: '$0.01' }, (_args, { x402 }) => {
    x402.waive('no_result')
    return said('nothing was found')
  })
  paidTool(server, 'throws', { price: '$0.01' }, () => {
    throw new Error('out of order')
  })
  const measured = { price: '$0.01', input: city, output: { celsius: z.number() } }
  paidTool(server, 'measured', measured, (args) => ({
    ...said(args.city),
    structuredContent: { celsius: args.city === 'Bern' ? 21 : 'warm' },
  }))
  paidTool(server, 'broken', { price: '$0.01' }, () => ({ content: [{ type: 'text' }] }))
  paidTool(server, 'waits', { price: '$0.01' }, async (_args, extra) => {
    const waited = new Promise<void>((resolve) => (goOn = resolve))
    const { notify, progressToken } = progressOf(extra)
    await notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
    await waited
    return said('done')
  })
}

interface EitherExtra {
  readonly sendNotification?: (one: object) => Promise<void>
  readonly _meta?: { readonly progressToken?: number }
  readonly mcpReq?: {
    readonly notify: (one: object) => Promise<void>
    readonly _meta?: { readonly progressToken?: number }
  }
}

/** How a handler reports progress, in either generation. */
function progressOf(extra: object) {
  const { sendNotification, mcpReq, _meta } = extra as EitherExtra
  const notify = mcpReq?.notify ?? sendNotification ?? (async () => undefined)
  return { notify, progressToken: (mcpReq ?? { _meta })._meta?.progressToken }
}

const textOf = ({ content }: Answer): string => content[0]?.text ?? ''

it('has the types of the SDK that its server is from', () => {
  const { paidTool } = shop.gateway
  const about = { name: 'typed', version: '1.0.0' }
  const dear = { price: '$0.01', input: z.object({ city: z.string().optional() }) }
  const first = paidTool(new Server1(about), 'typed', dear, async ({ city: named }, extra) => {
    const { signal, sendNotification, x402 } = extra
    await sendNotification({ method: 'notifications/tools/list_changed' })
    return said(`${named?.length} ${signal.aborted} ${x402.payer.length}`)
  })
  const second = paidTool(new Server2(about), 'typed', dear, ({ city: named }, { mcpReq, x402 }) =>
    said(`${named?.length} ${mcpReq.signal.aborted} ${x402.payer.length}`),
  )
  // @ts-expect-error -- there is no such argument
  paidTool(new Server2(about), 'wrong', dear, ({ town }) => said(String(town)))
  expect([first.enabled, second.enabled]).toEqual([true, true])
})

describe.each(GENERATIONS)('a paid tool of %s', (generation) => {
  let client: ToolClient
  beforeAll(async () => {
    client = await openToolClient(shop.gateway.paidTool, tools, generation)
  })
  afterAll(() => client.close())

  /** Pays for a call, and expects that nothing was charged, and that the payment is still good. */
  async function expectFree(name: string, args: object = {}): Promise<Answer> {
    const before = await earned()
    const payment = await client.sign(name, args, payer())
    const answer = await client.pay(name, args, payment)
    expect(receiptOf(answer)).toBeUndefined()
    expect(textOf(await client.pay(name, args, payment))).toBe(textOf(answer))
    expect(await earned()).toBe(before)
    return answer
  }

  it('asks for its price, in the words of every client', async () => {
    const answer = await client.call('forecast', { city: 'Bern' })
    const required = requiredOf(answer)
    expect(required).toMatchObject({
      x402Version: 2,
      error: 'Payment required',
      resource: { url: 'mcp://tool/forecast', description: 'The weather of tomorrow' },
      accepts: [{ scheme: 'exact', network: 'eip155:84532', amount: '10000' }],
    })
    const { x402Version, error, resource, accepts, extensions } = required
    expect(answer).toMatchObject({
      isError: true,
      structuredContent: required,
      _meta: { 'x402/error': { x402Version, error, resource, accepts, extensions } },
    })
    expect(ran).toEqual([])
  })

  it('runs for a payment, which is settled before the result leaves', async () => {
    const before = await earned()
    const payment = await client.sign('forecast', { city: 'Bern' }, payer())
    const answer = await client.pay('forecast', { city: 'Bern' }, payment)
    expect(textOf(answer)).toBe(`Bern is sunny for ${payer().address}`)
    expect(receiptOf(answer)).toMatchObject({ success: true, network: 'eip155:84532' })
    expect((await earned()) - before).toBe(10_000n)
    expect(ran).toEqual(['Bern'])
  })

  it('tells clients of Cloudflare what it costs before they call it', async () => {
    const listed = new Map((await client.listed()).map((tool) => [tool.name, tool]))
    expect(listed.get('forecast')?._meta).toEqual({
      'agents-x402/paymentRequired': true,
      'agents-x402/priceUSD': 0.01,
    })
    expect(listed.get('print')?._meta).toEqual({ 'agents-x402/paymentRequired': true })
    expect(listed.get('history')).toMatchObject({ title: 'History' })
  })

  it('asks a price that depends on the arguments', async () => {
    const { accepts } = requiredOf(await client.call('print', { pages: 3 }))
    expect(accepts[0]?.amount).toBe('30000')
    const payment = await client.sign('print', { pages: 3 }, payer())
    const other = await client.pay('print', { pages: 300 }, payment)
    expect(requiredOf(other).error).toBe('resource_mismatch')
    const unbound = { ...payment, resource: undefined }
    const cheap = await client.pay('print', { pages: 300 }, unbound)
    expect(requiredOf(cheap).error).toBe('invalid_payment_requirements')
    expect(receiptOf(await client.pay('print', { pages: 3 }, payment))?.success).toBe(true)
  })

  it('is not charged for an error, a waived result, or a handler that throws', async () => {
    expect(await expectFree('fails')).toMatchObject({ isError: true })
    await expectFree('waives')
    expect(textOf(await expectFree('throws'))).toBe('out of order')
  })

  it('is not charged for a result that its client would not be given', async () => {
    expect(await expectFree('measured', { city: 'Rome' })).toMatchObject({ isError: true })
    expect(textOf(await expectFree('broken'))).toContain('internal_error')
  })

  it('asks without structured content where that must fit the schema of the tool', async () => {
    const args = { city: 'Bern' }
    const asked = await client.call('measured', args)
    expect(asked).not.toHaveProperty('structuredContent')
    expect(requiredOf(asked).accepts).toHaveLength(1)
    const answer = await client.pay('measured', args, await client.sign('measured', args, payer()))
    expect(answer.structuredContent).toEqual({ celsius: 21 })
    expect(receiptOf(answer)?.success).toBe(true)
  })

  describe('to a client that is up to something', () => {
    it('gives neither another tool nor other arguments for a payment', async () => {
      const before = await earned()
      const payment = await client.sign('forecast', { city: 'Bern' }, payer())
      for (const [name, args] of [
        ['history', { city: 'Bern' }],
        ['forecast', { city: 'Rome' }],
        ['time', {}],
      ] as const) {
        const answer = await client.pay(name, args, payment)
        expect(requiredOf(answer).error).toBe('resource_mismatch')
      }
      expect(ran).toEqual([])
      expect(await earned()).toBe(before)
    })

    it('runs once for twenty copies of a payment, and takes one transfer', async () => {
      const before = await earned()
      const args = { city: 'Bern' }
      const payment = await client.sign('forecast', args, payer())
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => client.pay('forecast', args, payment)),
      )
      expect(answers.filter(({ isError }) => isError !== true)).toHaveLength(1)
      expect(ran).toEqual(['Bern'])
      expect((await earned()) - before).toBe(10_000n)
    })

    it('refuses a payment that has bought its call', async () => {
      const args = { city: 'Bern' }
      const payment = await client.sign('forecast', args, payer())
      await client.pay('forecast', args, payment)
      const again = await client.pay('forecast', args, payment)
      expect(requiredOf(again).error).toBe('invalid_exact_evm_nonce_already_used')
      expect(ran).toEqual(['Bern'])
    })

    it('gives the same result again for the same payment-identifier, and for the same arguments alone', async () => {
      const before = await earned()
      const args = { city: 'Bern' }
      const info = { required: false, id: `one_call_with_${generation.replace(' ', '_')}` }
      const extensions = { 'payment-identifier': { info, schema: {} } }
      const { resource } = requiredOf(await client.call('forecast', args))
      const payload = { extensions, resource: { ...resource } }
      const payment = await client.sign('forecast', args, payer(), { payload })
      const first = await client.pay('forecast', args, payment)
      expect(first.isError).not.toBe(true)
      expect(await client.pay('forecast', args, payment)).toEqual(first)
      const unbound = { ...payment, resource: undefined }
      const other = await client.pay('forecast', { city: 'Rome' }, unbound)
      expect(requiredOf(other).error).toBe('invalid_exact_evm_nonce_already_used')
      expect(ran).toEqual(['Bern'])
      expect((await earned()) - before).toBe(10_000n)
    })

    it.each([
      ['a string', 'pay later', 'it is not base64'],
      ['an empty string', '', 'it is empty'],
      ['an array', [1, 2], 'the document'],
      ['a number', 402, 'the document'],
      ['null', null, 'the document'],
      ['an empty object', {}, 'x402Version'],
      ['something huge', { x402Version: 2, junk: 'x'.repeat(1_000_000) }, 'longer than'],
    ])('explains what is wrong with %s in place of a payment', async (_name, payment, why) => {
      const answer = await client.pay('forecast', { city: 'Bern' }, payment)
      expect(answer.isError).toBe(true)
      const { error, accepts } = requiredOf(answer)
      expect(error).toMatch(
        /^The member x402\/payment of _meta cannot be read|invalid_x402_version/,
      )
      if (error?.startsWith('The')) expect(error).toContain(why)
      expect(accepts).toHaveLength(1)
      expect(ran).toEqual([])
    })

    it('does not charge a client that cancels while the handler reports its progress', async () => {
      const before = await earned()
      const payment = await client.sign('waits', {}, payer())
      const given = new AbortController()
      const progress: number[] = []
      const call = client.pay('waits', {}, payment, {
        signal: given.signal,
        onprogress(one) {
          progress.push(one.progress)
          given.abort()
        },
      })
      await expect(call).rejects.toThrow('abort')
      goOn()
      expect(progress).toEqual([1])
      // It was released, so that it buys something else, as soon as its first call is over.
      let other: Answer | undefined
      await until(async () => {
        other = await client.pay('time', {}, { ...payment, resource: undefined })
        return !textOf(other).includes('duplicate_settlement')
      })
      expect(textOf(other!)).toBe('noon')
      expect((await earned()) - before).toBe(10_000n)
    })

    it('takes no payment for a route, and its own are none at routes', async () => {
      const before = await earned()
      const route = await shop.sign('/forecast', payer())
      const args = { city: 'Bern' }
      expect(requiredOf(await client.pay('forecast', args, route)).error).toBe('resource_mismatch')
      const tool = await client.sign('forecast', args, payer())
      expect((await shop.pay('/forecast', tool)).status).toBe(402)
      expect(await earned()).toBe(before)
      expect(settlementOf(await shop.pay('/forecast', route)).success).toBe(true)
      expect(receiptOf(await client.pay('forecast', args, tool))?.success).toBe(true)
    })
  })
})
