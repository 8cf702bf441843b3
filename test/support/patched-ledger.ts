import type { LedgerStore } from '../../src/ledger/index.js'

/** Parts whose methods a test names without their part: no two have the same name. */
const FLAT = ['payments', 'relayers', 'refunds', 'counts', 'secrets'] as const
type FlatParts = Pick<LedgerStore, (typeof FLAT)[number]>

/** The methods of a ledger, by their names alone. */
export type LedgerMethods = FlatParts['payments'] &
  FlatParts['relayers'] &
  FlatParts['refunds'] &
  FlatParts['counts'] &
  FlatParts['secrets']

/** What a test changes of a ledger: methods, also some of its `idempotency`, or whole parts. */
type LedgerPatch = Partial<LedgerMethods> &
  Partial<Omit<LedgerStore, 'idempotency' | keyof FlatParts>> & {
    readonly idempotency?: Partial<LedgerStore['idempotency']>
  }

/** A ledger with some methods replaced. The others are the store's own, bound to it. */
export function patchedLedger(store: LedgerStore, changes: LedgerPatch = {}): LedgerStore {
  const left: Record<string, unknown> = { ...changes }
  const parts = FLAT.map((part) => {
    const own: Record<string, unknown> = { ...bound(store[part]) }
    for (const name of Object.keys(own))
      if (name in left) {
        own[name] = left[name]
        delete left[name]
      }
    return [part, own]
  })
  return {
    ...bound(store),
    ...left,
    ...(Object.fromEntries(parts) as unknown as FlatParts),
    idempotency: { ...bound(store.idempotency), ...changes.idempotency },
  }
}

/** All methods of a ledger, by their names alone. */
export function methodsOf(store: LedgerStore): LedgerMethods {
  return Object.assign({}, ...FLAT.map((part) => bound(store[part]))) as LedgerMethods
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
