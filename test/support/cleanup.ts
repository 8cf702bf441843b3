import { afterEach } from '@jest/globals'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Something that is closed at the end. */
export interface Closable {
  close(): unknown
}

/** What is to be done at the end, the newest first. */
export type Cleanup = (() => unknown)[]

/** A list of what each test has opened, or with `afterAll` a whole file or block; emptied after it. */
export function useCleanup(after = afterEach): Cleanup {
  const toEnd: Cleanup = []
  after(async () => {
    for (const end of toEnd.splice(0).toReversed()) await end()
  })
  return toEnd
}

/** Has something closed at the end. @returns It. */
export function closedBy<One extends Closable>(toEnd: Cleanup, one: One): One {
  toEnd.push(() => one.close())
  return one
}

/** A new folder, which is removed with all that is in it. */
export function temporaryFolder(toEnd: Cleanup): string {
  const folder = mkdtempSync(join(tmpdir(), 'x402-test-'))
  toEnd.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
