import { createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { HttpRpc } from '../../../src/core/chain/rpc.js'

const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x1"}'
const RESPONSE = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${ANSWER.length}\r\n\r\n${ANSWER}`

let end = (): void => undefined
afterEach(() => end())

/** A node that answers so many requests of each connection, and closes it when another one comes. */
async function startNode(answers: number) {
  const sockets = new Set<Socket>()
  let requests = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    let left = answers
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      if (!bytes.toString().startsWith('POST')) return
      requests++
      if (left-- > 0) socket.write(RESPONSE)
      else socket.resetAndDestroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  end = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  const { port } = server.address() as AddressInfo
  return { rpc: new HttpRpc({ url: `http://127.0.0.1:${port}` }), requests: () => requests }
}

describe('a connection that the node closes before it answers', () => {
  it('costs one attempt, however many connections were idle: the next one opens a fresh one', async () => {
    const { rpc, requests } = await startNode(1)
    const ask = () => rpc.ask('eth_sendRawTransaction', ['0x'])
    const answer = { ok: true, result: '0x1' }
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([answer, answer, answer])
    // The node may have seen it: who asked decides whether to ask again.
    await expect(ask()).rejects.toMatchObject({ code: 'chain_unreachable' })
    expect(await ask()).toEqual(answer)
    expect(requests()).toBe(5)
  })

  it('fails its request, if it was new: the node may have seen that request', async () => {
    const { rpc, requests } = await startNode(0)
    const asked = rpc.ask('eth_sendRawTransaction', ['0x'])
    await expect(asked).rejects.toMatchObject({ code: 'chain_unreachable' })
    expect(requests()).toBe(1)
  })
})
