import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { world } from '../../shared/world.js'

/** Idle connections that are kept open to one node. */
const MAX_IDLE = 16

/** Most bytes of an answer: the receipts of a whole block are far less. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

export interface PostAnswer {
  readonly status: number
  readonly text: string
}

/** Posts a body. Rejects when no complete response came in time. */
export type Post = (body: string) => Promise<PostAnswer>

/** Makes a function that posts JSON to one URL, over connections that stay open. */
export function createPost(url: string, timeoutMs: number): Post {
  const { protocol, username, password } = new URL(url)
  const isSecure = protocol === 'https:'
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({
    keepAlive: true,
    maxFreeSockets: MAX_IDLE,
  })
  const request = isSecure ? requestHttps : requestHttp
  const auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`

  return (body) =>
    new Promise((resolve, reject) => {
      const headers = {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        Accept: 'application/json',
      }
      const posting = request(url, { method: 'POST', agent, headers, ...(username && { auth }) })
      const timer = world.setTimeout(() => posting.destroy(new Error('timed out')), timeoutMs)
      const fail = (error: Error): void => {
        world.clearTimeout(timer)
        reject(error)
      }
      posting.on('error', (error) => {
        // The node closes idle connections: the next attempt opens a fresh one.
        if (posting.reusedSocket)
          for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy()
        fail(error)
      })
      posting.on('response', (response) => {
        const chunks: Buffer[] = []
        let bytes = 0
        response.on('error', () => fail(new Error('the connection broke')))
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          bytes += chunk.length
          if (bytes > MAX_ANSWER_BYTES) posting.destroy(new Error('the answer is too large'))
        })
        response.on('end', () => {
          world.clearTimeout(timer)
          resolve({
            status: response.statusCode ?? 0,
            text: Buffer.concat(chunks).toString('utf8'),
          })
        })
      })
      posting.end(body)
    })
}
