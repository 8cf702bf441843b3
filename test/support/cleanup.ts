import { afterEach } from '@jest/globals'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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

/** A new folder, which is removed with all that is in it. */
export function temporaryFolder(toEnd: Cleanup): string {
  const folder = mkdtempSync(join(tmpdir(), 'x402-test-'))
  toEnd.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
