import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { onceClosed } from '../http/once-closed.js'

/** A socket that its app may want to destroy. */
interface GuardedSocket {
  /** Complete responses that wait to be sent. */
  waiting: number
  /** Destroys the socket as the app wanted, where it did. */
  destroy: (() => void) | undefined
}

const guarded = new WeakMap<Socket, GuardedSocket>()

/**
 * Lets the app destroy a response, or its socket, only once the response has been sent.
 *
 * Express's final handler destroys the socket when an error follows a complete response. Without a payment
 * to wait for, that response is with the operating system by then.
 */
export function destroyLater(res: ServerResponse): void {
  const { socket } = res.req
  const guard = guardOf(socket)
  guard.waiting += 1
  let isOver = false
  const end = (): void => {
    if (isOver) return
    isOver = true
    guard.waiting -= 1
    if (guard.waiting === 0) guard.destroy?.()
  }
  const { destroy } = res
  res.destroy = (error) => {
    if (isOver) return destroy.call(res, error)
    guard.destroy ??= () => socket.destroy(error)
    return res
  }
  res.once('finish', end)
  onceClosed(res, end)
}

function guardOf(socket: Socket): GuardedSocket {
  const known = guarded.get(socket)
  if (known !== undefined) return known
  const guard: GuardedSocket = { waiting: 0, destroy: undefined }
  guarded.set(socket, guard)
  const { destroy } = socket
  socket.destroy = (error) => {
    if (guard.waiting === 0 || isBroken(socket, error)) return destroy.call(socket, error)
    guard.destroy ??= () => destroy.call(socket, error)
    return socket
  }
  return guard
}

/** Tells whether it is Node that destroys a socket: its client has disconnected. */
function isBroken({ writable }: Socket, error: NodeJS.ErrnoException | undefined): boolean {
  return !writable || error?.syscall !== undefined
}
