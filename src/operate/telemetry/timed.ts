import { world } from '../../shared/world.js'

/** Ledger methods without statements. */
const UNTIMED: ReadonlySet<PropertyKey> = new Set(['onFreed'])

export function timed<T extends object>(
  target: T,
  tell: (method: string, outcome: 'done' | 'failed', seconds: number) => void,
): T {
  const made = new Map<PropertyKey, unknown>()
  const wrap = (name: string, method: (...args: unknown[]) => unknown) =>
    function timedMethod(...args: unknown[]): unknown {
      const startedAt = world.elapsed()
      const end = (outcome: 'done' | 'failed') => () =>
        tell(name, outcome, (world.elapsed() - startedAt) / 1000)
      const result = method.apply(target, args)
      if (result instanceof Promise) result.then(end('done'), end('failed'))
      return result
    }
  return new Proxy(target, {
    get(_target, name) {
      if (made.has(name)) return made.get(name)
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      const method = member as (...args: unknown[]) => unknown
      const isTimed = typeof name === 'string' && !UNTIMED.has(name)
      const wrapped = isTimed ? wrap(name, method) : method.bind(target)
      made.set(name, wrapped)
      return wrapped
    },
  })
}
