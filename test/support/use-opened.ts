import { afterAll, beforeAll } from '@jest/globals'
import type { Closable } from './cleanup.js'

/**
 * Opens something for the tests of a file, or of a block, and closes it after them. Use its members inside
 * tests only.
 */
export function useOpened<One extends Closable>(open: () => Promise<One> | One): One {
  let opened: One | undefined
  const read = (): One => {
    if (opened === undefined) throw new Error('It is open inside tests only.')
    return opened
  }
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(async () => {
    await opened?.close()
  })
  return new Proxy({} as One, {
    get(_target, member) {
      const value: unknown = Reflect.get(read(), member)
      return typeof value === 'function' ? value.bind(opened) : value
    },
    set: (_target, member, value) => Reflect.set(read(), member, value),
  })
}
