/** MPP for the tools of MCP servers: the official client, unmodified, and clients that are up to something. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Client as Client2, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer as Server1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { createMcpHandler, McpServer as Server2 } from '@modelcontextprotocol/server'
import express from 'express'
import { McpClient } from 'mppx-0.11/mcp/client'
import { z } from 'zod'
import { createGateway } from '../../src/gateway/gateway.js'
import type { ToolServer } from '../../src/mcp.js'
import { closedBy, useCleanup } from '../support/cleanup.js'
import { balanceOf, shopOptions, useDevnet } from '../support/devnet.js'
import {
  challengesOf,
  CHANGED_MEMBERS,
  credentialMeta,
  credentialText,
  META,
  methodsOf,
  signCredential,
  toolChallengesOf,
  type CredentialOverrides,
  type SeenChallenge,
  type SignedCredential,
} from '../support/mpp.js'
import { resumeMining, stopMining } from '../support/mining.js'
import { settlementOf, useShop } from '../support/shop.js'
import { newNonce, signPayment } from '../support/sign-payment.js'
import { mcpEndpoint, openToolClient, receiptOf, requiredOf } from '../support/tool-shop.js'
import type { Answer, Generation, Tools } from '../support/tool-shop.js'
import { until } from '../support/until.js'

const MISMATCH = 'quote_mismatch'
const devnet = useDevnet()
const toEnd = useCleanup()
const payer = () => devnet.payers[0]!
const income = () => balanceOf(devnet, devnet.merchant.address)

/** The gateway's clock. */
const clock = { aheadMs: 0 }
let price = '$0.01'
let ran: string[] = []
/** What the last handler could see of the `_meta` of its call. */
let metaSeen = ''
beforeEach(() => {
  ran = []
})

const protocols = ['x402', 'mpp'] as const
const said = (text: string) => ({ content: [{ type: 'text', text }] })
const tools: Tools = (server, paidTool) => {
  const tool = { price: '$0.01', description: 'Weather', input: { city: z.string() }, protocols }
  paidTool(server, 'forecast', tool, ({ city }, extra) => {
    const { _meta, mcpReq } = extra as unknown as Record<'_meta' | 'mcpReq', object | undefined>
    metaSeen = JSON.stringify([_meta, mcpReq])
    ran.push(city)
    return said(`${city} is sunny for ${extra.x402.payer}`)
  })
  paidTool(server, 'history', tool, ({ city }) => said(city))
  paidTool(server, 'old', { ...tool, v1: true }, ({ city }) => said(city))
  paidTool(server, 'priced', { ...tool, price: () => price }, ({ city }) => said(city))
  paidTool(server, 'fails', tool, () => ({ ...said('no such city'), isError: true }))
  const output = { celsius: z.number() }
  paidTool(server, 'measured', { ...tool, output }, ({ city }) => ({
    ...said(city),
    structuredContent: { celsius: 21 },
  }))
  const { protocols: _protocols, ...ofX402 } = tool
  paidTool(server, 'x402-alone', ofX402, ({ city }) => {
    ran.push(city)
    return said(city)
  })
}

/** The handler of a server of the second generation. */
let modern: ReturnType<typeof createMcpHandler>
const about = { name: 'weather', version: '1.0.0' }
const shop = useShop(
  devnet,
  (app, { paidTool, x402Protect }) => {
    const declared = <Server extends ToolServer>(server: Server): Server => {
      tools(server, paidTool)
      return server
    }
    app.get('/forecast', x402Protect('$0.01', { protocols }), (_req, res) => {
      ran.push('forecast')
      res.json({ sunny: true })
    })
    app.post(
      '/mcp',
      express.json({ limit: '5mb' }),
      mcpEndpoint(() => declared(new Server1(about))),
    )
    modern = createMcpHandler(() => declared(new Server2(about)))
  },
  () => ({ now: () => Date.now() + clock.aheadMs, publicUrl: 'https://weather.example' }),
)

async function connect(generation: Generation): Promise<Client1 | Client2> {
  const url = new URL(`${shop.url}/mcp`)
  if (generation === 'sdk 1') {
    const client = closedBy(toEnd, new Client1(about))
    await client.connect(new Transport1(url))
    return client
  }
  const client = closedBy(toEnd, new Client2(about))
  const fetchModern = (input: string | URL, init?: RequestInit) =>
    modern.fetch(new Request(input, init))
  await client.connect(new StreamableHTTPClientTransport(url, { fetch: fetchModern }))
  return client
}

describe.each<Generation>(['sdk 1', 'sdk 2'])('mppx 0.11 with a client of %s', (generation) => {
  async function paying(privateKey = payer().privateKey) {
    const client = (await connect(generation)) as Client1
    return McpClient.wrap(client, { methods: methodsOf(privateKey) })
  }

  it.each(['forecast', 'measured', 'old'])('buys a call of %s, and pays once', async (name) => {
    const before = await income()
    const asked: unknown[] = []
    const answer = await (
      await paying()
    ).callTool({ name, arguments: { city: 'Bern' } }, undefined, {
      onPaymentRequired: (challenge: { id: string }) => asked.push(challenge.id) === 1,
    })
    expect(answer.isError).not.toBe(true)
    expect(answer.content).toMatchObject([{ text: expect.stringContaining('Bern') }])
    expect(answer.receipt).toEqual({
      chainId: 84_532,
      challengeId: asked[0],
      method: 'evm',
      reference: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      status: 'success',
      timestamp: expect.stringMatching(/^\d{4}-/),
    })
    expect(answer._meta?.['x402/payment-response']).toMatchObject({
      success: true,
      payer: payer().address,
      transaction: (answer.receipt as { reference?: string }).reference,
    })
    expect((await income()) - before).toBe(10_000n)
    // A handler may be a proxy, which would hand it on.
    expect(metaSeen).not.toContain('paymentauth')
  })

  it('knows by its server how it could pay', async () => {
    const client = await connect(generation)
    const payment = { methods: ['evm'], intents: ['charge'] }
    expect(client.getServerCapabilities()?.experimental).toEqual({ payment })
  })

  it('pays nothing for an error', async () => {
    const before = await income()
    const bern = { name: 'fails', arguments: { city: 'Bern' } }
    const answer = await (await paying()).callTool(bern)
    expect(answer).toMatchObject({ isError: true, content: [{ text: 'no such city' }] })
    expect(answer.receipt).toBeUndefined()
    expect(await income()).toBe(before)
  })

  it('is told that its account has not enough', async () => {
    const bern = { name: 'forecast', arguments: { city: 'Bern' } }
    const answer = await (await paying(newNonce())).callTool(bern)
    expect(answer).toMatchObject({ isError: true })
    expect(answer.receipt).toBeUndefined()
    expect(requiredOf(answer as unknown as Answer).error).toBe('insufficient_funds')
    expect(ran).toEqual([])
  })
})

const bern = { city: 'Bern' }
let client: Client1
beforeAll(async () => {
  client = new Client1(about)
  await client.connect(new Transport1(new URL(`${shop.url}/mcp`)))
})
afterAll(() => client.close())

async function call(name: string, args: object = bern, _meta: object = {}): Promise<Answer> {
  const params = { name, arguments: { ...args }, _meta: { ..._meta } }
  return (await client.callTool(params)) as unknown as Answer
}

const ask = async (name: string, args: object = bern): Promise<SeenChallenge> => {
  const [challenge] = toolChallengesOf(await call(name, args))
  if (challenge === undefined) throw new Error('nothing is asked for')
  return challenge
}
const sign = async (name: string, args: object = bern, overrides?: CredentialOverrides) =>
  signCredential(payer(), await ask(name, args), overrides)
const present = (name: string, credential: SignedCredential, args: object = bern) =>
  call(name, args, credentialMeta(credential))
const isSold = ({ isError }: Answer): boolean => isError !== true
const mppReceiptOf = ({ _meta }: Answer) => _meta?.[META.receipt]

/** Sends what must buy nothing, and is answered with what does. */
async function refuse(send: () => Promise<Answer>) {
  const before = { ran: [...ran], income: await income() }
  const answer = await send()
  expect({ ran, income: await income() }).toEqual(before)
  expect(answer.isError).toBe(true)
  expect([receiptOf(answer), mppReceiptOf(answer)]).toEqual([undefined, undefined])
  const { error, errorMessage } = requiredOf(answer)
  return { error, errorMessage, answer }
}

describe('an answer that asks for MPP', () => {
  it('names one challenge for this call, beside the words of x402', async () => {
    const answer = await call('forecast')
    expect(answer._meta?.[META.required]).toMatchObject({
      httpStatus: 402,
      challenges: [
        {
          realm: 'weather.example',
          method: 'evm',
          intent: 'charge',
          request: {
            amount: '10000',
            recipient: devnet.merchant.address,
            methodDetails: { chainId: 84_532, credentialTypes: ['authorization'] },
          },
        },
      ],
      problem: { type: 'https://paymentauth.org/problems/payment-required', status: 402 },
    })
    // Everything else is what clients of x402 get from a tool that takes x402 alone.
    const { [META.required]: _required, ...others } = answer._meta ?? {}
    const neutral = (one: object): string =>
      JSON.stringify(one)
        .replaceAll(/offerId\\*":\\*"[^"\\]+/g, 'offerId')
        .replaceAll('x402-alone', 'forecast')
    const ofX402 = await call('x402-alone')
    expect(neutral({ ...answer, _meta: others })).toBe(neutral(ofX402))
    expect(neutral(ofX402)).not.toContain('paymentauth')
  })

  it('sells to clients of x402 as before', async () => {
    const before = await income()
    const { accepts, resource } = requiredOf(await call('forecast'))
    const payload = { resource: { ...resource } }
    const payment = await signPayment(payer(), accepts[0]!, { payload })
    const answer = await call('forecast', bern, { 'x402/payment': payment })
    expect(isSold(answer)).toBe(true)
    expect(receiptOf(answer)).toMatchObject({ success: true })
    expect(mppReceiptOf(answer)).toBeUndefined()
    expect((await income()) - before).toBe(10_000n)
  })

  it('is none where the tool takes x402 alone, which reads no credential', async () => {
    const { error, answer } = await refuse(async () =>
      present('x402-alone', await sign('forecast')),
    )
    expect(error).toBe('Payment required')
    expect(toolChallengesOf(answer)).toEqual([])
  })
})

describe('a credential with one member changed', () => {
  it.each(CHANGED_MEMBERS)('is refused: the %s of its challenge', async (_name, change) => {
    const challenge = await ask('forecast')
    const changed = { ...challenge, ...change(challenge) }
    // The payer has signed the change.
    for (const credential of [
      await signCredential(payer(), changed),
      { ...(await signCredential(payer(), challenge)), challenge: changed },
    ]) {
      const { error, answer } = await refuse(() => present('forecast', credential))
      expect(error).toBe(MISMATCH)
      expect(answer._meta?.[META.required]).toMatchObject({
        problem: { type: 'https://paymentauth.org/problems/invalid-challenge' },
      })
      expect(toolChallengesOf(answer)[0]?.id).not.toBe(challenge.id)
    }
  })

  it('is good with its members in another order, as another language writes them', async () => {
    const { challenge, ...signed } = await sign('forecast')
    const reversed = (one: object): object =>
      Object.fromEntries(
        Object.entries(one)
          .toReversed()
          .map(([name, value]) => [
            name,
            value?.constructor === Object ? reversed(value as object) : (value as unknown),
          ]),
      )
    const [member] = Object.values(credentialMeta({ challenge, ...signed }))
    const answer = await call('forecast', bern, { [META.credential]: reversed(member!) })
    expect(isSold(answer)).toBe(true)
  })

  it.each<[string, CredentialOverrides, string]>([
    ['a later end', { signed: { validBefore: '4102444800' } }, MISMATCH],
    ['less', { signed: { value: '1' } }, 'invalid_exact_evm_payload_authorization_value_mismatch'],
    ['another source', { source: `did:pkh:eip155:84532:0x${'1'.repeat(40)}` }, 'invalid_payload'],
    ['another type', { payload: { type: 'hash' } }, 'invalid_payload'],
    ['no signature', { payload: { signature: '0x' } }, 'invalid_payload'],
  ])('is refused: %s', async (_name, overrides, reason) => {
    const credential = await sign('forecast', bern, overrides)
    expect((await refuse(() => present('forecast', credential))).error).toBe(reason)
  })

  let nested: unknown = {}
  for (let depth = 0; depth < 3000; depth++) nested = [nested]
  it.each<[string, unknown]>([
    ['a string', 'pay later'],
    ['an empty string', ''],
    ['an array', [1, 2]],
    ['a number', 402],
    ['null', null],
    ['an empty object', {}],
    ['a challenge alone', { challenge: {} }],
    ['members that are null', { challenge: null, payload: null }],
    ['something huge', { challenge: {}, payload: { junk: 'x'.repeat(1_000_000) } }],
    ['something deep', { challenge: { request: nested }, payload: {} }],
  ])('is explained: %s in place of a credential', async (_name, credential) => {
    const { error, errorMessage, answer } = await refuse(() =>
      call('forecast', bern, { [META.credential]: credential }),
    )
    expect(error).toBe('invalid_payload')
    expect(errorMessage).toMatch(
      /^The member org\.paymentauth\/credential of _meta cannot be read: .+\.$/,
    )
    expect(toolChallengesOf(answer)).toHaveLength(1)
  })
})

it.each([
  [META.credential, 'invalid_payload'],
  ['x402/payment', 'cannot be read: it is nested deeper'],
])('explains a member %s that is nested deeper than any stack', async (member, why) => {
  const deep = '['.repeat(40_000) + ']'.repeat(40_000)
  const params = { name: 'forecast', arguments: bern, _meta: { [member]: 'DEEP' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const response = await fetch(`${shop.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    },
    body: body.replace('"DEEP"', deep),
  })
  expect(await response.text()).toContain(why)
})

describe('a credential elsewhere', () => {
  it('is good for neither another tool nor other arguments', async () => {
    const credential = await sign('forecast')
    for (const [name, args] of [
      ['history', bern],
      ['forecast', { city: 'Rome' }],
      ['priced', bern],
    ] as const)
      expect((await refuse(() => present(name, credential, args))).error).toBe(MISMATCH)
    expect(isSold(await present('forecast', credential))).toBe(true)
  })

  it('is not good at another price, or once it has lapsed', async () => {
    const credential = await sign('priced')
    price = '$0.02'
    const dearer = await refuse(() => present('priced', credential))
    price = '$0.01'
    expect(dearer.error).toBe('invalid_payment_requirements')
    clock.aheadMs = 400_000
    const late = await refuse(() => present('priced', credential))
    clock.aheadMs = 0
    expect(late.error).toBe('invalid_exact_evm_payload_authorization_valid_before')
    expect(isSold(await present('priced', credential))).toBe(true)
  })

  it('is no credential of a route, and one of a route is none of a tool', async () => {
    const [challenge] = challengesOf(await shop.ask('/forecast'))
    const ofRoute = await signCredential(payer(), challenge!)
    expect((await refuse(() => present('forecast', ofRoute))).error).toBe(MISMATCH)
    const ofTool = await sign('forecast')
    const before = await income()
    const headers = { authorization: credentialText(ofTool) }
    const answer = await shop.ask('/forecast', { headers })
    expect(answer.status).toBe(402)
    expect(await answer.json()).toMatchObject({ error: MISMATCH })
    expect(await income()).toBe(before)
    expect(isSold(await present('forecast', ofTool))).toBe(true)
    const good = { headers: { authorization: credentialText(ofRoute) } }
    expect(settlementOf(await shop.ask('/forecast', good)).success).toBe(true)
  })

  it('is not good at a server with another secret, and is at one that shares the secret', async () => {
    const open = async (quoteSecret: string, generation: Generation) => {
      const gateway = closedBy(toEnd, createGateway(shopOptions(devnet, { quoteSecret })))
      return closedBy(toEnd, await openToolClient(gateway.paidTool, tools, generation))
    }
    const secret = 'a'.repeat(32)
    const first = await open(secret, 'sdk 1')
    const [challenge] = toolChallengesOf(await first.call('forecast', bern))
    // Nobody has said where the server is.
    expect(challenge?.realm).toBe('x402')
    const _meta = credentialMeta(await signCredential(payer(), challenge!))
    const stranger = await open('b'.repeat(32), 'sdk 2')
    const refused = await refuse(() => stranger.call('forecast', bern, { _meta }))
    expect(refused.error).toBe(MISMATCH)
    const second = await open(secret, 'sdk 2')
    expect(isSold(await second.call('forecast', bern, { _meta }))).toBe(true)
  })
})

describe('one authorization', () => {
  /** The same authorization, as x402 presents it. */
  async function asX402({ payload }: SignedCredential, extensions?: object) {
    const { accepts } = requiredOf(await call('forecast'))
    const { type: _type, signature, ...authorization } = payload
    const [accepted] = accepts
    return { x402Version: 2, accepted, payload: { signature, authorization }, extensions }
  }

  it('runs its tool once for twenty copies, which get one result', async () => {
    const before = await income()
    const credential = await sign('forecast')
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => present('forecast', credential)),
    )
    expect(ran).toEqual(['Bern'])
    expect((await income()) - before).toBe(10_000n)
    const good = answers.filter(isSold).map((answer) => JSON.stringify(answer))
    expect(good.length).toBeGreaterThan(0)
    expect(new Set(good).size).toBe(1)
    const again = await present('forecast', credential)
    expect(JSON.stringify(again)).toBe(good[0])
    const other = await refuse(() => present('forecast', credential, { city: 'Rome' }))
    expect(other.error).toBe(MISMATCH)
  })

  it('is sold once, however often and by whichever way it comes at once', async () => {
    const before = await income()
    const credential = await sign('forecast')
    const payment = await asX402(credential)
    const answers: Answer[] = []
    for (let round = 0; round < 5; round++) {
      const sent = Array.from({ length: 40 }, (_, index) =>
        index % 2 === 0
          ? present('forecast', credential)
          : call('forecast', bern, { 'x402/payment': payment }),
      )
      answers.push(...(await Promise.all(sent)))
    }
    expect(ran).toEqual(['Bern'])
    expect((await income()) - before).toBe(10_000n)
    const good = answers.filter(isSold).map(({ content }) => JSON.stringify(content))
    expect(good.length).toBeGreaterThan(0)
    expect(new Set(good).size).toBe(1)
  })

  it('that waits to be mined is not asked for again, and buys its result later', async () => {
    const gateway = closedBy(toEnd, createGateway(shopOptions(devnet, { settleTimeoutMs: 1000 })))
    const slow = closedBy(toEnd, await openToolClient(gateway.paidTool, tools, 'sdk 2'))
    const [challenge] = toolChallengesOf(await slow.call('forecast', bern))
    const _meta = credentialMeta(await signCredential(payer(), challenge!))
    const before = await income()
    await stopMining(devnet)
    const waiting = await slow.call('forecast', bern, { _meta })
    await resumeMining(devnet)
    expect(waiting.isError).toBe(true)
    expect(receiptOf(waiting)).toMatchObject({ success: false, errorReason: 'settlement_pending' })
    // A client would sign for a new challenge, and pay twice.
    expect([toolChallengesOf(waiting), mppReceiptOf(waiting)]).toEqual([[], undefined])
    let bought = waiting
    await until(async () => isSold((bought = await slow.call('forecast', bern, { _meta }))))
    expect(mppReceiptOf(bought)).toMatchObject({ challengeId: challenge!.id, status: 'success' })
    expect((await income()) - before).toBe(10_000n)
  })

  it('of x402 is no credential', async () => {
    const challenge = await ask('forecast')
    const { accepts } = requiredOf(await call('forecast'))
    const { payload } = await signPayment(payer(), accepts[0]!)
    const { authorization, signature } = payload as { authorization: object; signature: string }
    const mixed = { type: 'authorization', ...authorization, signature }
    const credential = { challenge, payload: mixed, source: undefined as unknown as string }
    const { error, errorMessage } = await refuse(() => present('forecast', credential))
    expect(error).toBe(MISMATCH)
    expect(errorMessage).toContain('nonce')
  })

  it('beside a payment of x402 buys nothing, and both are still good', async () => {
    const credential = await sign('forecast')
    const { accepts } = requiredOf(await call('forecast'))
    const payment = await signPayment(payer(), accepts[0]!)
    for (const name of ['x402/payment', 'x402.payment']) {
      const both = { ...credentialMeta(credential), [name]: payment }
      const { error, errorMessage } = await refuse(() => call('forecast', bern, both))
      expect(error).toBe('invalid_payload')
      expect(errorMessage).toContain('two payments')
    }
    expect(isSold(await present('forecast', credential))).toBe(true)
    expect(isSold(await call('forecast', bern, { 'x402/payment': payment }))).toBe(true)
  })

  it('does not get the result of another payer, who has seen its challenge', async () => {
    const challenge = await ask('forecast')
    for (const buyer of [devnet.payers[0]!, devnet.payers[1]!]) {
      const answer = await present('forecast', await signCredential(buyer, challenge))
      expect(answer.content[0]?.text).toContain(buyer.address)
    }
    expect(ran).toEqual(['Bern', 'Bern'])
  })
})
