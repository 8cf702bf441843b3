import { afterEach, describe, expect, it } from '@jest/globals'
import { createGateway, memoryLedger, type Logger } from '../../src/index.js'
import { sqliteLedger } from '../../src/sql.js'

const { NODE_ENV } = process.env
afterEach(() => {
  process.env['NODE_ENV'] = NODE_ENV
})

describe('a ledger in memory', () => {
  it('is warned of in production, once, and no other is', async () => {
    const warned: string[] = []
    const logger: Logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: (message) => void warned.push(message),
      error: () => undefined,
    }
    await createGateway({ logger }).close()
    process.env['NODE_ENV'] = 'production'
    await createGateway({ logger, ledger: sqliteLedger(':memory:') }).close()
    expect(warned).toEqual([])
    await createGateway({ logger, ledger: memoryLedger() }).close()
    await createGateway({ logger }).close()
    expect(warned).toEqual([expect.stringContaining('X402_DATABASE_URL')])
  })
})
