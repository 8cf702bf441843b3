import { once } from 'node:events'
import type { Server } from 'node:http'

/** Closes a server and its connections. May be called again. */
export async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
