import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Express } from 'express'
import express4 from 'express4'
import express from 'express'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import { temporaryFolder, useCleanup } from '../../support/cleanup.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { listen, paymentHeader } from '../../support/http.js'
import { paymentRequiredOf } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'
import { useOpened } from '../../support/use-opened.js'

const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)
const folder = temporaryFolder(useCleanup(afterAll))
beforeAll(async () => {
  await mkdir(join(folder, 'part'))
  await writeFile(join(folder, 'part', 'index.html'), 'PAID')
})
const PUBLIC_URL = 'https://shop.example'

function routes(make: typeof express, { x402Protect }: Gateway): Express {
  const app = make()
  const charge = x402Protect('$0.01')
  app.use('/docs', charge, make.static(folder))
  app.all('/from/:method', charge, (req, res) => {
    const { status = 302, to = '' } = req.query
    res.set({ 'Set-Cookie': 'session=SECRET', 'X-License': 'SECRET' })
    res
      .status(Number(status))
      .set('Location', to as string)
      .send('SECRET')
  })
  app.get('/paid/:id', charge, (_req, res) => void res.send('PAID'))
  app.get('/free', (_req, res) => void res.send('free'))
  app.get('/free-first/:id', (_req, res) => void res.send('free'))
  app.use('/free-first', charge)
  const skips = x402Protect('$0.01', { skip: (req) => req.query['token'] === 'SECRET' })
  app.get('/skips', skips, (_req, res) => void res.send('PAID'))
  const judged = x402Protect('$0.01', { chargeIf: () => false })
  app.get('/judged', judged, (_req, res) => void res.send('PAID'))
  const inner = make.Router()
  inner.get('/report', charge, (_req, res) => void res.send('PAID'))
  app.use('/shops/:shop', inner)
  return app
}

describe.each([
  ['5', express, undefined],
  ['5 with publicUrl', express, PUBLIC_URL],
  ['4', express4, undefined],
])('a redirect that was paid for, in Express %s', (_name, make, publicUrl) => {
  const gateway = useOpened(() => createGateway(shopOptions(devnet, { publicUrl })))
  const server = useOpened(() => listen(routes(make, gateway).set('trust proxy', true)))

  /** Buys once. @returns The answer, and what it cost. */
  async function buy(path: string, method = 'GET') {
    const before = await earned()
    const asked = await fetch(server.url + path, { method })
    const [accepted] = paymentRequiredOf(asked).accepts
    const headers = paymentHeader(await signPayment(devnet.payers[0]!, accepted!))
    const answer = await fetch(server.url + path, { method, headers, redirect: 'manual' })
    return { answer, cost: (await earned()) - before }
  }
  const from = (to: string, status = 302) => `/from/x?status=${status}&to=${encodeURIComponent(to)}`
  /** An absolute URL is the app's own where the app knows its URL: a buyer may name any host. */
  const ofAbsolute = publicUrl === undefined ? 10_000n : 0n

  it('is free where a folder only gets its slash', async () => {
    const { answer, cost } = await buy('/docs/part?a=1')
    expect([answer.status, answer.headers.get('location')]).toEqual([301, '/docs/part/?a=1'])
    expect(cost).toBe(0n)
  })

  it.each([301, 302, 303, 307, 308])(
    'is free to a paid route, and gives no more: %i',
    async (status) => {
      const { answer, cost } = await buy(from('/paid/7', status))
      expect([answer.status, answer.headers.get('location')]).toEqual([status, '/paid/7'])
      expect(JSON.stringify([...answer.headers]) + (await answer.text())).not.toContain('SECRET')
      expect(cost).toBe(0n)
    },
  )

  it.each([
    ['/shops/3/nothing', 'GET', 302, 10_000n],
    ['/shops//report', 'GET', 302, 10_000n],
    // A folder may have what is free.
    ['/docs/other', 'GET', 302, 10_000n],
    ['../paid/7', 'GET', 302, 0n],
    ['/shops/3/report', 'GET', 302, 0n],
    ['/paid/7', 'HEAD', 302, 0n],
    ['/from/y', 'POST', 307, 0n],
    // A write that is answered by its result was made.
    ['/paid/7', 'POST', 303, 10_000n],
    ['/paid/7', 'POST', 307, 10_000n],
    [`${PUBLIC_URL}/paid/7`, 'GET', 302, ofAbsolute],
    // What else may be the good.
    ['/free', 'GET', 302, 10_000n],
    ['/free-first/7', 'GET', 302, 10_000n],
    ['/nowhere', 'GET', 302, 10_000n],
    ['/skips?token=SECRET', 'GET', 302, 10_000n],
    ['/judged', 'GET', 302, 10_000n],
    ['https://cdn.example/paid/7', 'GET', 302, 10_000n],
    ['//cdn.example/paid/7', 'GET', 302, 10_000n],
    ['/\\cdn.example/paid/7', 'GET', 302, 10_000n],
    ['http://[', 'GET', 302, 10_000n],
    ['/paid/7', 'GET', 300, 10_000n],
  ])('to %s (%s, %i) costs %s', async (to, method, status, cost) => {
    expect((await buy(from(to, status), method)).cost).toBe(cost)
  })

  it('is charged where its buyer names the host of the link that was bought', async () => {
    const path = from('http://cdn.example/paid/7')
    const before = await earned()
    const headers = { 'X-Forwarded-Host': 'cdn.example' }
    const [accepted] = paymentRequiredOf(await fetch(server.url + path, { headers })).accepts
    const paid = { ...headers, ...paymentHeader(await signPayment(devnet.payers[0]!, accepted!)) }
    await fetch(server.url + path, { headers: paid, redirect: 'manual' })
    expect((await earned()) - before).toBe(10_000n)
  })
})
