import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A TCP proxy in front of a database, which can be down. */
export interface TcpProxy {
  readonly port: number
  /** While it is down, connections break and new ones are refused. */
  isDown: boolean
  /** The next request with these words in it is done; its answer is lost with its connection. */
  loseAnswerTo: string | undefined
  close(): Promise<void>
}

/** Starts a proxy on a free port of 127.0.0.1. */
export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  let isDown = false
  let loseAnswerTo: string | undefined
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    keep(client)
    if (isDown) return void client.destroy()
    const upstream = connect(target)
    keep(upstream)
    client.pipe(upstream)
    let isLost = false
    client.on('data', (chunk) => {
      if (loseAnswerTo === undefined || !chunk.includes(loseAnswerTo)) return
      loseAnswerTo = undefined
      isLost = true
    })
    upstream.on('data', (chunk) => {
      if (isLost) client.destroy()
      else client.write(chunk)
    })
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    get isDown() {
      return isDown
    },
    set isDown(value) {
      isDown = value
      if (isDown) destroyAll()
    },
    get loseAnswerTo() {
      return loseAnswerTo
    },
    set loseAnswerTo(words) {
      loseAnswerTo = words
    },
    async close() {
      server.close()
      destroyAll()
      await once(server, 'close')
    },
  }
}
