/** The load: what clients do to a server, and how long it takes them. */
import autocannon from 'autocannon'
import { Agent, type Dispatcher, getGlobalDispatcher, request } from 'undici'

/** Milliseconds a client waits for an answer. One that gets none makes no more calls. */
const PATIENCE_MS = 20_000

/** One request of a client's. */
export interface Call {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** An answer, as far as the benchmark looks at it. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** What came of a load. */
export interface LoadResult {
  readonly count: number
  readonly failed: number
  readonly seconds: number
  readonly latenciesMs: readonly number[]
  /** What the first failure was, in words. */
  readonly failure: string | undefined
}

/**
 * Every client makes its calls one after the other, all clients at once.
 *
 * They use undici, which takes some 40 % less CPU than `node:http`: load and server share the machine.
 */
export async function runClients(
  clients: readonly (Iterable<Call> | AsyncIterable<Call>)[],
  isGood: (answer: Answer) => boolean,
): Promise<LoadResult> {
  const agent = new Agent({ connections: clients.length })
  const latenciesMs: number[] = []
  let failed = 0
  let failure: string | undefined
  const client = async (calls: Iterable<Call> | AsyncIterable<Call>): Promise<void> => {
    for await (const call of calls) {
      const startedAt = performance.now()
      const answer = await send(call, agent).catch((error: unknown) => String(error))
      latenciesMs.push(performance.now() - startedAt)
      if (typeof answer !== 'string' && isGood(answer)) continue
      failed += 1
      failure ??= typeof answer === 'string' ? answer : `${answer.status} ${describe(answer)}`
      if (typeof answer === 'string') return
    }
  }
  const startedAt = performance.now()
  await Promise.all(clients.map(client))
  const seconds = (performance.now() - startedAt) / 1000
  await agent.destroy()
  return { count: latenciesMs.length, failed, seconds, latenciesMs, failure }
}

/** Why a payment was not taken: the document of the answer says so. */
export function describe({ headers, body }: Answer): string {
  const header = headers['payment-response'] ?? headers['payment-required']
  return (header ? Buffer.from(String(header), 'base64').toString() : body).slice(0, 300)
}

/** Sends a request. @param dispatcher - Its pool of connections. @defaultValue undici's global one */
export async function send(
  { method, url, headers, body }: Call,
  dispatcher: Dispatcher = getGlobalDispatcher(),
): Promise<Answer> {
  const patience = { headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS }
  const options = { dispatcher, method, headers, body: body ?? null, ...patience }
  const response = await request(url, options)
  const { statusCode: status, headers: answered } = response
  return { status, headers: answered, body: await response.body.text() }
}

/** Asks the same again and again. @returns Answers a second; all must have the status expected. */
export async function hammer(
  url: string,
  { status, seconds, connections }: { status: number; seconds: number; connections: number },
): Promise<number> {
  const result = await autocannon({ url, connections, duration: seconds })
  const expected = result.statusCodeStats?.[`${status}`]?.count ?? 0
  if (result.errors > 0 || expected === 0 || expected !== result.requests.total)
    throw new Error(`${url} has not answered ${status} throughout`)
  return result.requests.total / result.duration
}
