import { once } from 'node:events'
import { IncomingMessage, request, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { HeldResponse, type HeldEnd } from '../../../src/sell/hold/held-response.js'
import { listen } from '../../support/http.js'
import { until } from '../../support/until.js'

/** Serves one answer that is held, and lets the test decide what becomes of it. */
async function serve(
  write: (res: ServerResponse) => void | Promise<void>,
  decide: (held: HeldResponse, end: HeldEnd, res: ServerResponse) => void,
  { before = (_res: ServerResponse): void => undefined, maxHeldBytes = 1_000_000 } = {},
): Promise<Response> {
  const server = await listen((_req, res) => {
    before(res)
    const held = new HeldResponse(res, { maxHeldBytes })
    void held.finished.then((end) => decide(held, end, res))
    void write(res)
  })
  try {
    const response = await fetch(server.url)
    const body = await response.arrayBuffer()
    return new Response(body.byteLength === 0 ? null : body, response)
  } finally {
    await server.close()
  }
}
const send = (held: HeldResponse): void => held.send()

describe('a held response', () => {
  it('shows its progress while it is held, and that of the response itself afterwards', () => {
    const res = new ServerResponse(new IncomingMessage(new Socket()))
    const held = new HeldResponse(res, { maxHeldBytes: 1 })
    held.discard()
    expect([res.headersSent, res.writableEnded]).toEqual([false, false])
    res.end()
    const derived = Object.create(res) as ServerResponse
    for (const { headersSent, writableEnded } of [res, derived])
      expect([headersSent, writableEnded]).toEqual([true, true])
  })

  it('never asks its writer to wait for drain', async () => {
    let waits = 0
    const response = await serve(async (res) => {
      for (let chunk = 0; chunk < 8; chunk++)
        if (!res.write('x'.repeat(20_000))) {
          waits++
          await once(res, 'drain')
        }
      res.end()
    }, send)
    expect((await response.text()).length).toBe(160_000)
    expect(waits).toBe(0)
  })

  it('sends the answer as middleware in front of it has changed it', async () => {
    const response = await serve((res) => void res.end('plain'), send, {
      before: (res) => {
        const end = res.end.bind(res)
        res.end = ((chunk: Buffer) => end(String(chunk).toUpperCase())) as ServerResponse['end']
      },
    })
    expect(await response.text()).toBe('PLAIN')
  })

  it('lets middleware behind it add its headers when the head would be written', async () => {
    const response = await serve((res) => {
      const writeHead = res.writeHead.bind(res)
      res.writeHead = (status: number) => {
        res.setHeader('X-Late', 'yes')
        return writeHead(status)
      }
      res.end('body')
    }, send)
    expect(response.headers.get('x-late')).toBe('yes')
    expect(response.headers.get('content-length')).toBe('4')
  })

  it('leaves no trace when it is discarded', async () => {
    const response = await serve(
      (res) => {
        res.statusMessage = 'Fine'
        res.setHeader('X-Handler', 'ran')
        res.setHeader('X-Before', 'changed')
        res.writeHead(201, { 'X-Head': 'yes' })
        res.end('secret')
      },
      (held, _end, res) => {
        held.discard()
        res.end('dropped')
      },
      { before: (res) => void res.setHeader('X-Before', 'kept') },
    )
    expect(response.status).toBe(200)
    expect(response.statusText).toBe('OK')
    expect(await response.text()).toBe('dropped')
    expect(Object.fromEntries(response.headers)).toMatchObject({ 'x-before': 'kept' })
    expect(response.headers.has('x-handler')).toBe(false)
    expect(response.headers.has('x-head')).toBe(false)
  })

  it('has not ended if writing its head throws, and ends with its client', async () => {
    const ends: HeldEnd[] = []
    let thrown: unknown
    const server = await listen((_req, res) => {
      const held = new HeldResponse(res, { maxHeldBytes: 1000 })
      void held.finished.then((end) => ends.push(end))
      res.writeHead = () => {
        throw new Error('no head')
      }
      try {
        res.end('answer')
      } catch (error) {
        thrown = error
      }
    })
    const client = request(server.url).end()
    client.on('error', () => undefined)
    await until(() => thrown !== undefined)
    client.destroy()
    await until(() => ends.length > 0)
    await server.close()
    expect(thrown).toEqual(new Error('no head'))
    expect(ends).toEqual([{ kind: 'aborted' }])
  })

  it('fixes the status with the first byte, as Node does', async () => {
    let seen: HeldEnd | undefined
    await serve(
      (res) => {
        res.write('first')
        res.statusCode = 500
        res.end()
      },
      (held, end) => {
        seen = end
        held.send()
      },
    )
    expect(seen).toEqual({ kind: 'ended', status: 200 })
  })

  it('refuses what Node would refuse to write', async () => {
    let refused: unknown
    await serve((res) => {
      try {
        Reflect.apply(res.write, res, [42])
      } catch (error) {
        refused = error
      }
      res.end()
    }, send)
    expect(refused).toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' })
  })

  it('gives up an answer that is larger than it may hold, and ignores later writes', async () => {
    const ends: HeldEnd[] = []
    const response = await serve(
      (res) => {
        res.write('12345')
        res.write('67890')
        res.end('more')
      },
      (held, end, res) => {
        ends.push(end)
        held.discard()
        res.statusCode = 500
        res.end()
      },
      { maxHeldBytes: 9 },
    )
    expect(ends).toEqual([{ kind: 'too_large' }])
    expect(response.status).toBe(500)
  })

  it('knows that its client is gone, before and after it has ended', async () => {
    const ends: HeldEnd[] = []
    let held: HeldResponse | undefined
    let response: ServerResponse | undefined
    const server = await listen((_req, res) => {
      response = res
      held = new HeldResponse(res, { maxHeldBytes: 1000 })
      void held.finished.then((end) => ends.push(end))
      if (_req.url === '/ended') res.end('answer')
    })
    for (const path of ['/', '/ended']) {
      const client = request(server.url + path).end()
      client.on('error', () => undefined)
      response = undefined
      await until(() => response !== undefined)
      client.destroy()
      await until(() => held?.clientGone === true)
    }
    await server.close()
    expect(ends).toEqual([{ kind: 'aborted' }, { kind: 'ended', status: 200 }])
  })
})
