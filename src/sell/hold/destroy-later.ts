import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface GuardedSocket {
  /** Complete responses that wait to be sent. */
  waiting: number
  /** Destroys the socket as the app wanted, where it did. */
  destroy: (() => void) | undefined
}

const guarded = new WeakMap<Socket, GuardedSocket>()

/** Servers of guarded sockets, and whether they destroy all of their connections at this moment. */
const servers = new WeakMap<Server, { isDestroyingAll: boolean }>()

/**
 * Keeps the app from destroying a complete response, or its socket, before it is sent.
 *
 * Express's final handler destroys the socket when an error follows a complete response. Without a payment
 * to wait for, that response is with the operating system by then.
 *
 * @returns Call it when the response is sent: what the app wanted to destroy is destroyed after it.
 */
export function destroyLater(res: ServerResponse): () => void {
  const { destroy } = res
  const { socket } = res.req
  const guard = guardOf(socket)
  guard.waiting += 1
  res.destroy = (error) => {
    guard.destroy ??= () => socket.destroy(error)
    return res
  }
  return () => {
    res.destroy = destroy
    guard.waiting -= 1
    if (guard.waiting > 0 || guard.destroy === undefined) return
    res.once('finish', guard.destroy)
    guard.destroy = undefined
  }
}

function guardOf(socket: Socket): GuardedSocket {
  const known = guarded.get(socket)
  if (known !== undefined) return known
  const guard: GuardedSocket = { waiting: 0, destroy: undefined }
  guarded.set(socket, guard)
  const { server } = socket as { readonly server?: Server }
  const closing = server && watchServer(server)
  const { destroy } = socket
  socket.destroy = (error) => {
    const isNow = guard.waiting === 0 || closing?.isDestroyingAll === true
    if (isNow || isBroken(socket, error)) return destroy.call(socket, error)
    guard.destroy ??= () => destroy.call(socket, error)
    return socket
  }
  return guard
}

/** Tells whether it is Node that destroys a socket: its client has disconnected. */
function isBroken({ writable }: Socket, error: NodeJS.ErrnoException | undefined): boolean {
  return !writable || error?.syscall !== undefined
}

/**
 * Notes when `closeAllConnections` runs, which waits for nothing. A server that merely does not listen any
 * more still sends what is under way.
 */
function watchServer(server: Server): { readonly isDestroyingAll: boolean } {
  const known = servers.get(server)
  if (known !== undefined) return known
  const closing = { isDestroyingAll: false }
  servers.set(server, closing)
  const { closeAllConnections } = server
  server.closeAllConnections = () => {
    closing.isDestroyingAll = true
    try {
      closeAllConnections.call(server)
    } finally {
      closing.isDestroyingAll = false
    }
  }
  return closing
}
