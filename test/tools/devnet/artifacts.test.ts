import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'

const COMPILE = fileURLToPath(
  new URL('../../../src/tools/devnet/contracts/compile.mjs', import.meta.url),
)

it('has the artifacts that the contracts compile to', async () => {
  const { stderr } = await promisify(execFile)(process.execPath, [COMPILE, '--check'])
  expect(stderr).toBe('')
})
