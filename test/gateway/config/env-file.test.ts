import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { withEnvFile } from '../../../src/gateway/config/read/env-file.js'
import { useCleanup, temporaryFolder } from '../../support/cleanup.js'

const folder = temporaryFolder(useCleanup(afterAll))

describe('the file .env beside a configuration', () => {
  it('may be missing', async () => {
    const env = { A: '1' }
    expect(await withEnvFile(join(folder, 'nowhere'), env)).toStrictEqual({ env })
  })

  it('adds variables of the gateway, which the environment overrides, and none of the app', async () => {
    const text =
      '\uFEFF# keys\nA=file\nB="two words"\nDATABASE_URL=x\nPORT=1\nNODE_ENV=x\nX402_DATABASE_URL=y\n'
    await writeFile(join(folder, '.env'), text)
    expect(await withEnvFile(folder, { A: 'given', C: undefined })).toStrictEqual({
      env: { A: 'given', B: 'two words', X402_DATABASE_URL: 'y' },
      file: join(folder, '.env'),
    })
  })
})
