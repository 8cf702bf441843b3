import { describe, expect, it } from '@jest/globals'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { LedgerError } from '../../../src/shared/errors.js'
import { quoteSecret } from '../../../src/core/quotes/quote-secret.js'

describe('the secret of quotes', () => {
  it('is the configured one even if the ledger has another', async () => {
    const secret = quoteSecret('configured', { secrets: { sharedSecret: async () => 'shared' } })
    expect(await secret()).toBe('configured')
  })

  it('is read from the ledger once', async () => {
    const asked: string[] = []
    const secret = quoteSecret(undefined, {
      secrets: { sharedSecret: async (name) => `${name}-${asked.push(name)}` },
    })
    expect(await Promise.all([secret(), secret()])).toStrictEqual(['quote-1', 'quote-1'])
    expect(await secret()).toBe('quote-1')
  })

  it('is read again if the ledger was away', async () => {
    let away = true
    const secret = quoteSecret(undefined, {
      secrets: {
        sharedSecret: async () => {
          if (away) throw new LedgerError('ledger_unavailable', 'It is away.')
          return 'shared'
        },
      },
    })
    await expect(secret()).rejects.toMatchObject({ code: 'ledger_unavailable' })
    away = false
    expect(await secret()).toBe('shared')
  })

  it('is random in each memory ledger, and stays', async () => {
    const [one, other] = [1, 2].map(() => quoteSecret(undefined, createMemoryLedger()))
    if (one === undefined || other === undefined) throw new Error('There are two.')
    expect(await one()).toMatch(/^[\w-]{43}$/)
    expect(await one()).toBe(await one())
    expect(await one()).not.toBe(await other())
  })
})
