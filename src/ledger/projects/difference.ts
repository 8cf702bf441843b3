import { isObject } from '../../shared/protocol/document.js'

type Members = Readonly<Record<string, unknown>>

/** The members of two objects that differ, also of objects in them. */
export function differenceOf(before: object, after: object) {
  const [was, is] = [{}, {}] as [Record<string, unknown>, Record<string, unknown>]
  for (const name of Object.keys({ ...before, ...after })) {
    const [old, now] = [(before as Members)[name], (after as Members)[name]]
    if (JSON.stringify(old) === JSON.stringify(now)) continue
    const inner = isObject(old) && isObject(now) ? differenceOf(old, now) : undefined
    if (old !== undefined) was[name] = inner?.before ?? old
    if (now !== undefined) is[name] = inner?.after ?? now
  }
  return { before: was, after: is }
}
