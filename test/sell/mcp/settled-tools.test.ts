/** Paid tools whose payment is settled late, in part, by nobody, or for a client that is gone. */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { createGateway } from '../../../src/gateway/gateway.js'
import type { ToolServer } from '../../../src/mcp.js'
import type { PaymentPayload } from '../../../src/shared/protocol/payment.js'
import { useCleanup } from '../../support/cleanup.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { resumeMining, stopMining, untilSent } from '../../support/mining.js'
import { emptyAccount, newPayer } from '../../support/on-chain.js'
import { signUpTo } from '../../support/sign-up-to.js'
import { openToolClient, receiptOf, requiredOf } from '../../support/tool-shop.js'
import type { Answer, ToolClient, Tools } from '../../support/tool-shop.js'
import { until } from '../../support/until.js'
import { permit2Of } from '../../tools/devnet/permit2.js'

const devnet = useDevnet()
const payer = () => devnet.payers[0]!
const closers = useCleanup(afterEach)

let before = 0n
beforeEach(async () => {
  before = await balanceOf(devnet, devnet.merchant.address)
})
const earned = async () => (await balanceOf(devnet, devnet.merchant.address)) - before

/** Opens a shop of one test. */
async function open(
  tools: Tools,
  options: Parameters<typeof shopOptions>[1] = {},
): Promise<ToolClient & { readonly gateway: ReturnType<typeof createGateway> }> {
  const gateway = createGateway(shopOptions(devnet, options))
  const client = await openToolClient(gateway.paidTool, tools, 'sdk 1')
  closers.push(
    () => client.close(),
    () => gateway.close(),
  )
  return { ...client, gateway }
}

const said = (text: string) => ({ content: [{ type: 'text', text }] })
const textOf = ({ content }: Answer): string => content[0]?.text ?? ''
const codeOf = (answer: Answer): unknown => (JSON.parse(textOf(answer)) as { code?: string }).code
const input = { city: z.string() }
const bern = { city: 'Bern' }

/** A tool that counts its runs. */
function counting() {
  let runs = 0
  const tools: Tools = (server, paidTool) => {
    paidTool(server, 'forecast', { price: '$0.01', input }, ({ city }) => {
      runs += 1
      return said(`${city} ${runs}`)
    })
  }
  return { tools, runs: () => runs }
}

describe('a price that is a maximum', () => {
  beforeAll(() => permit2Of(devnet).approve(payer().address))

  const metered: Tools = (server, paidTool) => {
    const tool = { price: { upTo: '$0.10' }, input }
    paidTool(server, 'translate', tool, ({ city }, { x402 }) => {
      for (let letters = city.length; letters > 0; letters--) x402.charge('$0.001')
      return city === 'Rome' ? { ...said('no such city'), isError: true } : said(city.toUpperCase())
    })
  }

  async function signFor(client: ToolClient, args: object) {
    const document = Buffer.from(textOf(await client.call('translate', args))).toString('base64')
    return signUpTo(new Response(null, { headers: { 'payment-required': document } }), payer())
  }

  it('is charged for what was used', async () => {
    const client = await open(metered)
    const answer = await client.pay('translate', bern, await signFor(client, bern))
    expect(textOf(answer)).toBe('BERN')
    expect(receiptOf(answer)).toMatchObject({ success: true, amount: '4000' })
    expect(await earned()).toBe(4000n)
  })

  it('is not charged for an error, whatever its handler has charged', async () => {
    const client = await open(metered)
    const rome = { city: 'Rome' }
    const answer = await client.pay('translate', rome, await signFor(client, rome))
    expect(textOf(answer)).toBe('no such city')
    expect(await earned()).toBe(0n)
  })
})

it('lets no result out whose payment cannot be settled', async () => {
  const poor = await newPayer(devnet)
  const client = await open((server, paidTool) => {
    paidTool(server, 'forecast', { price: '$0.01', input }, async () => {
      await emptyAccount(devnet, poor)
      return said('sunny')
    })
  })
  const answer = await client.pay('forecast', bern, await client.sign('forecast', bern, poor))
  expect(JSON.stringify(answer)).not.toContain('sunny')
  expect(answer.isError).toBe(true)
  const { error: errorReason } = requiredOf(answer)
  expect(receiptOf(answer)).toMatchObject({ success: false, errorReason })
  expect(await earned()).toBe(0n)
})

it('tells a buyer whose payment waits to present it again, for the same arguments alone', async () => {
  const { tools, runs } = counting()
  const client = await open(tools, { settleTimeoutMs: 1000 })
  const payment = await client.sign('forecast', bern, payer())
  await stopMining(devnet)
  const waiting = await client.pay('forecast', bern, payment)
  expect(codeOf(waiting)).toBe('settlement_pending')
  expect(receiptOf(waiting)).toMatchObject({ success: false, errorReason: 'settlement_pending' })
  await resumeMining(devnet)
  for (const resource of [undefined, { url: 'mcp://tool/forecast' }]) {
    const other = await client.pay('forecast', { city: 'Rome' }, { ...payment, resource })
    expect(requiredOf(other).error).toBe('invalid_exact_evm_nonce_already_used')
  }
  expect(runs()).toBe(1)
  await until(async () => {
    const answer = await client.pay('forecast', bern, payment)
    return receiptOf(answer)?.success === true && textOf(answer).startsWith('Bern')
  })
  expect(await earned()).toBe(10_000n)
})

describe('a payment whose client is gone while it is settled', () => {
  /** Presents a payment, and leaves. @returns What the same payment gets once it is mined. */
  async function leave(payment: (client: ToolClient) => Promise<object>): Promise<Answer> {
    const { tools } = counting()
    const client = await open(tools)
    const presented = await payment(client)
    await stopMining(devnet)
    const given = new AbortController()
    const call = client.pay('forecast', bern, presented, { signal: given.signal })
    await untilSent(devnet)
    given.abort()
    await expect(call).rejects.toThrow('abort')
    await resumeMining(devnet)
    let again: Answer | undefined
    await until(async () => {
      again = await client.pay('forecast', bern, presented)
      return !/settlement_pending|duplicate_settlement/.test(textOf(again))
    })
    return again!
  }

  it('is good for those who know its offer', async () => {
    const again = await leave((client) => client.sign('forecast', bern, payer()))
    expect(receiptOf(again)?.success).toBe(true)
    expect(await earned()).toBe(10_000n)
  })

  it('is good for nobody else: no two calls without a session are known to be of one client', async () => {
    const again = await leave(async (client) => {
      const payment = (await client.sign('forecast', bern, payer())) as PaymentPayload
      const { offerId, ...extra } = payment.accepted['extra'] as Record<string, unknown>
      expect(offerId).toBeDefined()
      return { ...payment, accepted: { ...payment.accepted, extra } }
    })
    expect(requiredOf(again).error).toBe('invalid_exact_evm_nonce_already_used')
    expect(await earned()).toBe(10_000n)
  })
})

it('sells nothing by the names of what every object has', async () => {
  const names = ['__proto__', 'constructor']
  for (const name of names)
    await expect(
      open((server, paidTool) => {
        paidTool(server, name, { price: '$0.01' }, () => said('sold'))
      }),
    ).rejects.toThrow(`Tool ${name} is already registered`)
  const { tools } = counting()
  const client = await open(tools)
  for (const name of names) {
    const answer = await client.call(name)
    expect(textOf(answer)).toBe(`MCP error -32602: Tool ${name} disabled`)
  }
})

it('sells by such a name on a server that can register it', async () => {
  const gateway = createGateway(shopOptions(devnet))
  closers.push(() => gateway.close())
  const handlers = new Map<string, (extra: object) => Promise<Answer>>()
  const server: ToolServer = {
    registerTool: (name: string, _config: never, handler: never) => handlers.set(name, handler),
  }
  gateway.paidTool(server, '__proto__', { price: '$0.01' }, () => said('sold'))
  const asked = await handlers.get('__proto__')!({})
  expect(requiredOf(asked).resource.url).toBe('mcp://tool/__proto__')
})

it('limits how often a payer calls', async () => {
  const { tools } = counting()
  const client = await open(tools, { paymentRateLimit: { limit: 1 } })
  const buy = async () => client.pay('forecast', bern, await client.sign('forecast', bern, payer()))
  expect(receiptOf(await buy())?.success).toBe(true)
  expect(codeOf(await buy())).toBe('rate_limited')
  expect(await earned()).toBe(10_000n)
})

it('sells nothing for arguments that it cannot tell from others', async () => {
  let nested: object = {}
  for (let depth = 0; depth < 200; depth++) nested = { nested }
  const client = await open((server, paidTool) => {
    const tool = { price: '$0.01', input: z.looseObject({}) }
    paidTool(server, 'any', tool, () => said('sold'))
  })
  expect(codeOf(await client.call('any', nested))).toBe('invalid_request')
  expect(requiredOf(await client.call('any', { nested: 1 })).accepts).toHaveLength(1)
})

it('refuses calls while its gateway closes, and waits for those under way', async () => {
  let goOn: () => void = () => undefined
  const client = await open((server, paidTool) => {
    paidTool(server, 'slow', { price: '$0.01' }, async () => {
      await new Promise<void>((resolve) => (goOn = resolve))
      return said('done')
    })
  })
  const payment = await client.sign('slow', {}, payer())
  const first = goOn
  const call = client.pay('slow', {}, payment)
  await until(() => goOn !== first)
  const closed = client.gateway.close()
  expect(codeOf(await client.call('slow'))).toBe('shutting_down')
  goOn()
  expect(receiptOf(await call)?.success).toBe(true)
  await closed
  expect(await earned()).toBe(10_000n)
})

describe('a declaration that cannot work', () => {
  let server: unknown = { registerTool: () => undefined }
  const { paidTool } = {
    paidTool: (...given: unknown[]) => {
      const gateway = createGateway(shopOptions(devnet))
      closers.push(() => gateway.close())
      return (gateway.paidTool as (...all: unknown[]) => unknown)(server, 'forecast', ...given)
    },
  }

  it.each([
    ['no price', {}, () => said('')],
    ['a price that is none', { price: '1,000' }, () => said('')],
    ['no handler', { price: '$0.01' }, undefined],
    ['no tool', () => said(''), undefined],
    ['an option with a wrong value', { price: '$0.01', maxTimeoutSeconds: 1 }, () => said('')],
    ["the SDK's name of an option", { price: '$0.01', inputSchema: {} }, () => said('')],
    ['a misspelt option', { price: '$0.01', desciption: 'x' }, () => said('')],
    ['an option of routes', { price: '$0.01', access: '24h' }, () => said('')],
  ])('throws, and registers nothing: %s', (_name, tool, handler) => {
    expect(() => paidTool(tool, handler)).toThrow(
      expect.objectContaining({ code: 'config_invalid' }),
    )
  })

  it('says how it is called, where there is no server', () => {
    server = {}
    expect(() => paidTool({ price: '$0.01' }, () => said(''))).toThrow(
      "paidTool(server, 'forecast', { price: '$0.01' }, handler)",
    )
  })
})
