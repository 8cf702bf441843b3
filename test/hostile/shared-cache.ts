import { once } from 'node:events'
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { listen, type TestServer } from '../support/http.js'

/** What a shared cache keeps of an answer. */
interface Stored {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  storedAt: number
}

/** Seconds for which a shared cache may answer by itself (RFC 9111 § 4.2.1, RFC 9213 § 2.2). */
function freshSeconds({ headers }: Stored): number {
  const targeted = headers['cdn-cache-control'] ?? headers['surrogate-control']
  const text = String(targeted ?? headers['cache-control'] ?? '')
  const seconds = /s-maxage=(\d+)/.exec(text)?.[1] ?? /max-age=(\d+)/.exec(text)?.[1]
  if (seconds !== undefined) return Number(seconds)
  return headers.expires === undefined ? 0 : (Date.parse(headers.expires) - Date.now()) / 1000
}

/** Whether a shared cache may keep an answer (RFC 9111 § 3). */
function isStorable({ status, headers }: Stored): boolean {
  const targeted = headers['cdn-cache-control'] ?? headers['surrogate-control']
  const text = String(targeted ?? headers['cache-control'] ?? '')
  if (/(^|[\s,])(private|no-store)([\s,]|$)/.test(text)) return false
  return status === 200 && (text !== '' || headers.etag !== undefined)
}

/** A cache that is shared by everybody, in front of a server: as RFC 9111 has it, no product. */
export async function startSharedCache(origin: string): Promise<TestServer> {
  const store = new Map<string, Stored>()
  const ask = async (req: IncomingMessage, extra: IncomingHttpHeaders): Promise<Stored> => {
    const asked = request(origin + (req.url ?? ''), {
      method: req.method,
      headers: { ...req.headers, ...extra, connection: 'close' },
    })
    const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage]
    const chunks: Buffer[] = []
    for await (const chunk of answer) chunks.push(chunk as Buffer)
    const { statusCode: status = 0, headers } = answer
    return { status, headers, body: Buffer.concat(chunks), storedAt: Date.now() }
  }
  return listen((req, res) => {
    const answer = async (): Promise<void> => {
      const send = ({ status, headers, body }: Stored, cache: string): void => {
        const { 'transfer-encoding': _encoding, connection: _connection, ...rest } = headers
        res.writeHead(status, { ...rest, 'x-cache': cache, 'content-length': body.length })
        res.end(body)
      }
      const key = `${req.method} ${req.url}`
      const stored = store.get(key)
      if (stored && freshSeconds(stored) > (Date.now() - stored.storedAt) / 1000)
        return send(stored, 'HIT')
      const condition =
        stored?.headers.etag === undefined ? {} : { 'if-none-match': stored.headers.etag }
      const fresh = await ask(req, condition)
      if (fresh.status === 304 && stored) return send(stored, 'REVALIDATED')
      if (isStorable(fresh)) store.set(key, fresh)
      send(fresh, 'MISS')
    }
    answer().catch(() => res.destroy())
  })
}
