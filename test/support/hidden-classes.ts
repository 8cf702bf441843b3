import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'

setFlagsFromString('--allow-natives-syntax')

/** Whether V8 keeps two objects in one shape. */
export const haveSameClass = runInThisContext('(one, other) => %HaveSameMap(one, other)') as (
  one: object,
  other: object,
) => boolean

/** Whether V8 keeps an object in a shape at all, and not as a dictionary. */
export const hasClass = runInThisContext('(one) => %HasFastProperties(one)') as (
  one: object,
) => boolean
