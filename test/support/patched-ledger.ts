import type { LedgerStore } from '../../src/ledger/index.js'

/** What a test changes of a ledger: methods, also some of its `idempotency`. */
type LedgerPatch = Omit<Partial<LedgerStore>, 'idempotency'> & {
  readonly idempotency?: Partial<LedgerStore['idempotency']>
}

/** A ledger with some methods replaced. The others are the store's own, bound to it. */
export function patchedLedger(store: LedgerStore, changes: LedgerPatch = {}): LedgerStore {
  return {
    ...bound(store),
    ...changes,
    idempotency: { ...bound(store.idempotency), ...changes.idempotency },
  }
}

/** The members of an object and of its classes, as members of its own. Methods are bound to it. */
export function bound<T extends object>(instance: T): T {
  const members: Record<string, unknown> = Object.fromEntries(Object.entries(instance))
  for (
    let prototype: unknown = Object.getPrototypeOf(instance);
    typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype)
  )
    for (const name of Object.getOwnPropertyNames(prototype)) {
      const member: unknown = Reflect.get(instance, name)
      if (name !== 'constructor' && typeof member === 'function' && !(name in members))
        members[name] = member.bind(instance)
    }
  return members as T
}
