/** Serving endpoints as they are defined. */
import { describe, expect, it } from '@jest/globals'
import express from 'express'
import { z } from 'zod'
import { OpenRequests } from '../../../src/shared/http/open-requests.js'
import type { RouterContext } from '../../../src/api/context.js'
import { defineEndpoint, type Access } from '../../../src/api/serve/define-endpoint.js'
import { bindEndpoints, serveEndpoints } from '../../../src/api/serve/serve-endpoints.js'
import { useCleanup, closedBy } from '../../support/cleanup.js'
import { listen } from '../../support/http.js'
import { recordLog } from '../api.js'

/** Endpoints of these tests need no more of a gateway. */
const CONTEXT = { logger: recordLog(), requests: new OpenRequests() } as unknown as RouterContext

const toEnd = useCleanup()

const words = { tag: 'Merchant', summary: 'Test it', description: 'A test.' } as const

const thing = (path: string, access: Access = 'anyone') => ({
  ...defineEndpoint({
    ...words,
    method: 'GET',
    path,
    id: path,
    access: 'anyone',
    query: z.object({ size: z.string().optional() }),
    responses: { 200: { description: 'It.', type: 'text/plain' } },
    respond: (_context, { res, query, param }) =>
      void res.send([path, param('id'), query.size].join(' ')),
  }),
  access,
})

const serve = async (...paths: readonly string[]): Promise<(path: string) => Promise<string>> => {
  const app = express()
  app.use(
    serveEndpoints(
      bindEndpoints(
        CONTEXT,
        paths.map((path) => thing(path)),
      ),
    ),
  )
  app.use(
    ((error: { readonly detail?: string }, _req, res, _next) =>
      void res.send(error.detail)) as express.ErrorRequestHandler,
  )
  const server = closedBy(toEnd, await listen(app))
  return async (path) => (await fetch(server.url + path)).text()
}

describe('serving endpoints', () => {
  it('refuses to serve an endpoint whose access nobody checks', () => {
    for (const access of ['project', 'merchant', 'admin'] as const)
      expect(() => bindEndpoints(CONTEXT, [thing('/things', access)])).toThrow('/things')
    const admin = () => () => undefined
    const endpoint = thing('/things', 'admin')
    expect(() => bindEndpoints(CONTEXT, [endpoint], { admin })).toThrow('/things')
    expect(() => bindEndpoints(CONTEXT, [{ ...endpoint, scope: 'read' }], { admin })).not.toThrow()
  })

  it('prefers the endpoint of exactly that path, then the first whose pattern fits', async () => {
    const ask = await serve('/things/{id}', '/things/mine', '/{id}/any')
    expect(await ask('/things/mine')).toBe('/things/mine  ')
    expect(await ask('/things/a%2Fb?size=7')).toBe('/things/{id} a/b 7')
    expect(await ask('/things/any')).toBe('/things/{id} any ')
  })

  it('names the parameter that was probably meant, and takes one that evades caches', async () => {
    const ask = await serve('/things')
    expect(await ask('/things?sise=7')).toContain("did you mean 'size'")
    expect(await ask('/things?_=1')).toBe('/things  ')
  })
})
