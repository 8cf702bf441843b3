/** Requests of gateways to nodes: they take their time, and may be lost, refused or garbled on the way. */
import type { PostAnswer } from '../../src/core/chain/post.js'
import type { Faults } from './faults.js'
import type { Node } from './node.js'
import { NOBODY, type Scheduler } from './scheduler.js'

interface Wire {
  readonly scheduler: Scheduler
  readonly faults: Faults
  readonly nodes: ReadonlyMap<string, Node>
  /** Nodes that do not answer. */
  readonly away: ReadonlySet<string>
}

/** The wire of the running simulation. */
let wire: Wire | undefined

export function connect(to: Wire): void {
  wire = to
}

/**
 * Stands in for src/core/chain/post.ts.
 *
 * @public
 */
export function createPost(url: string, timeoutMs: number): (body: string) => Promise<PostAnswer> {
  const { host } = new URL(url)
  return (body) => {
    if (wire === undefined) throw new Error('No simulation runs.')
    return postOver(wire, host, { body, timeoutMs })
  }
}

function postOver(
  { scheduler, faults, nodes, away }: Wire,
  host: string,
  { body, timeoutMs }: { readonly body: string; readonly timeoutMs: number },
): Promise<PostAnswer> {
  const { life } = scheduler
  const { chance } = faults
  return new Promise((resolve, reject) => {
    const late = scheduler.after(timeoutMs, () => reject(new Error('timed out')))
    const back = (work: () => void, ms = chance.between(1, 6)): void =>
      void scheduler.after(
        ms,
        () => {
          late.work = undefined
          work()
        },
        life,
      )
    const respond = (status: number, text: string, ms?: number) =>
      back(() => resolve({ status, text }), ms)
    const node = nodes.get(host)
    if (node === undefined || away.has(host))
      return back(() => reject(Object.assign(new Error('ECONNREFUSED'), { code: 'ECONNREFUSED' })))
    if (faults.happens('requestLost')) return
    scheduler.after(
      chance.between(1, 6),
      () => {
        if (faults.happens('throttled')) return respond(429, 'Too Many Requests')
        if (faults.happens('unavailable')) return respond(503, 'Service Unavailable')
        if (faults.happens('headerNotFound'))
          return respond(200, '{"error":{"code":-32000,"message":"header not found"}}')
        const { method, params } = JSON.parse(body) as { method: string; params: unknown[] }
        const text = JSON.stringify({ jsonrpc: '2.0', id: 1, ...node.answer(method, params) })
        if (faults.happens('answerLost')) {
          if (chance.onceIn(2)) back(() => reject(new Error('socket hang up')))
          return
        }
        if (faults.happens('garbled')) return respond(200, text.slice(0, text.length / 2))
        respond(200, text, faults.happens('slow') ? chance.between(1000, 12_000) : undefined)
      },
      NOBODY,
    )
  })
}
