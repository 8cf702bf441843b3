import { beforeEach, describe, expect, it } from '@jest/globals'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { fetchJson, type JsonRequest } from '../../../src/shared/http/fetch-json.js'
import { listen } from '../../support/http.js'
import { useOpened } from '../../support/use-opened.js'

const requests: string[] = []
let respond: (req: IncomingMessage, res: ServerResponse) => void

const server = useOpened(() =>
  listen((req, res) => {
    requests.push(`${req.method} ${req.url}`)
    respond(req, res)
  }),
)
beforeEach(() => {
  requests.length = 0
})

const get = (request: Partial<JsonRequest> = {}) =>
  fetchJson(`${server.url}/secret`, { headers: {}, timeoutMs: 30_000, maxBytes: 10, ...request })

describe('fetchJson', () => {
  it('reads a document with any status', async () => {
    respond = (_req, res) => res.writeHead(418).end('{"a":1}')
    expect(await get()).toMatchObject({ kind: 'json', status: 418, document: { a: 1 } })
    expect(requests).toStrictEqual(['GET /secret'])
  })

  it('posts a body', async () => {
    respond = (req, res) => {
      void text(req).then((body) => res.end(body))
    }
    const response = await get({ body: { b: 2 } })
    expect(response).toMatchObject({ kind: 'json', status: 200, document: { b: 2 } })
    expect(requests).toStrictEqual(['POST /secret'])
  })

  it('accepts a body of the maximum length, and none longer', async () => {
    respond = (_req, res) => res.end('"12345678"')
    expect(await get()).toMatchObject({ kind: 'json' })
    respond = (_req, res) => res.end('"123456789"')
    expect(await get()).toMatchObject({ kind: 'too_long', status: 200 })
  })

  it('closes the connection of a response that does not end', async () => {
    let written = 0
    respond = (_req, res) => {
      const piece = Buffer.alloc(64 * 1024, ' ')
      const write = (): void => {
        if (res.destroyed) return
        written += piece.length
        if (res.write(piece)) setImmediate(write)
        else res.once('drain', write)
      }
      write()
    }
    expect(await get()).toMatchObject({ kind: 'too_long' })
    expect(written).toBeLessThan(64 * 1024 * 1024)
  })

  it('does not follow a redirect', async () => {
    respond = (_req, res) => res.writeHead(302, { location: '/elsewhere' }).end()
    expect(await get()).toMatchObject({ kind: 'no_json', status: 302, text: '' })
    expect(requests).toStrictEqual(['GET /secret'])
  })

  it('does not read the body of an error if it does not matter', async () => {
    respond = (_req, res) => res.writeHead(500).end('{"a":1}')
    const response = await get({ skipsErrorBodies: true })
    expect(response).toMatchObject({ kind: 'no_json', status: 500, text: '' })
  })

  it('reports malformed JSON', async () => {
    respond = (_req, res) => res.end('<html>')
    expect(await get()).toMatchObject({ kind: 'no_json', status: 200, text: '<html>' })
  })

  it('gives up on a response that does not arrive in time', async () => {
    respond = (_req, res) => void res.writeHead(200).write('{')
    const response = await get({ timeoutMs: 50 })
    expect(response).toMatchObject({ kind: 'no_response' })
  })

  it('describes a failure without the URL', async () => {
    respond = (req) => void req.socket.destroy()
    const response = await get()
    expect(response).toMatchObject({ kind: 'no_response' })
    expect(JSON.stringify(response)).not.toMatch(/secret|127\.0\.0\.1/)
  })
})
