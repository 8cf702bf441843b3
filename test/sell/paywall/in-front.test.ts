/** What other middleware in front of a paid route does to the page. */
import { afterAll, describe, expect, it } from '@jest/globals'
import compression from 'compression'
import cors from 'cors'
import express, { type RequestHandler } from 'express'
import session from 'express-session'
import express4 from 'express4'
import helmet from 'helmet'
import { createGateway } from '../../../src/gateway/gateway.js'
import { listen, type TestServer } from '../../support/http.js'

const middleware: Readonly<Record<string, () => RequestHandler>> = {
  helmet: () => helmet(),
  cors: () => cors({ origin: 'https://elsewhere.example' }),
  compression: () => compression({ threshold: 0 }),
  session: () => session({ secret: 'x', resave: false, saveUninitialized: true }),
}

/** All orders of the names. */
function orders(names: readonly string[]): readonly (readonly string[])[] {
  if (names.length < 2) return [names]
  return names.flatMap((first) =>
    orders(names.filter((name) => name !== first)).map((rest) => [first, ...rest]),
  )
}

const gateway = createGateway({
  networks: {
    'base-sepolia': { rpcUrl: 'http://127.0.0.1:1', relayerKeys: [`0x${'22'.repeat(32)}`] },
  },
  projects: [{ id: 'shop', merchant: { payTo: `0x${'11'.repeat(20)}` } }],
})
afterAll(() => gateway.close())

async function serve(create: typeof express, order: readonly string[]): Promise<TestServer> {
  const app = create()
  for (const name of order) app.use(middleware[name]!())
  app.get('/page', gateway.x402Protect('$0.01'), (_req, res) => void res.send('paid'))
  return listen(app)
}

describe.each([
  ['express', express],
  ['express4', express4],
])('with %s', (_name, create) => {
  it.each(orders(Object.keys(middleware)).map((order) => [order.join(', '), order] as const))(
    'the paywall page is whole behind %s',
    async (_order, order) => {
      const server = await serve(create, order)
      const ask = (accept: string) => fetch(`${server.url}/page`, { headers: { accept } })
      const page = await ask('text/html')
      expect([page.status, page.headers.get('content-type')]).toEqual([
        402,
        'text/html; charset=utf-8',
      ])
      expect(page.headers.get('content-encoding')).toMatch(/^(gzip|br)$/)
      const policy = page.headers.get('content-security-policy') ?? ''
      const [, nonce = 'none'] = /'nonce-([^']+)'/.exec(policy) ?? []
      expect(policy).toMatch(/^default-src 'none'; script-src 'nonce-/)
      const html = await page.text()
      expect(html).toContain(`<script type="module" nonce="${nonce}">`)
      expect(html.trimEnd()).toMatch(/<\/html>$/)
      expect(page.headers.getSetCookie()).toHaveLength(1)
      expect(page.headers.get('access-control-expose-headers')).toContain('PAYMENT-REQUIRED')

      const json = await ask('*/*')
      expect([json.status, json.headers.get('content-type')]).toEqual([
        402,
        'application/json; charset=utf-8',
      ])
      // The app's own policy is for the app's own responses.
      expect(json.headers.get('content-security-policy')).toMatch(/^default-src 'self';/)
      for (const { headers } of [page, json]) {
        const vary = headers.get('vary')?.split(/,\s*/).toSorted()
        expect(vary).toEqual(['Accept', 'Accept-Encoding', 'Origin'])
      }
      await server.close()
    },
  )
})
