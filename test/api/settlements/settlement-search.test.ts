/** Searches by what people see of a payment. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { LedgerEntry } from '../../../src/ledger/index.js'
import { serveAdmin, OPEN, SHOP_TOKEN } from '../admin/admin.js'
import { newEntry, steps } from '../../support/ledger-entries.js'
import { newNonce } from '../../support/sign-payment.js'
import { useOpened } from '../../support/use-opened.js'

const OTHER_TOKEN = 'a-project-token-of-another'
/** USDC on Base Sepolia. */
const USDC = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'
const PAYER = '0xa1b2c3d4e5f60718293a4b5c6d7e8f9001020304'
const [BEGIN, END] = [PAYER.slice(0, 6), PAYER.slice(-4)]

const ledger = createMemoryLedger()

const order = (reference: string, overrides: Partial<LedgerEntry> = {}) =>
  newEntry({
    asset: USDC,
    from: `0xcc${newNonce().slice(2, 40)}`,
    details: { reference },
    ...overrides,
  })

const api = useOpened(async () => {
  await steps.settled(ledger, order('Order-1007', { from: PAYER, value: 250_000n }))
  await steps.settled(ledger, order('Order-1007-b', { value: 1_000_000n }))
  await steps.failed(ledger, order('Order-2001', { from: PAYER, value: 250_001n }))
  await steps.reserved(ledger, order('Order-2002', { from: PAYER, value: 10n }))
  await steps.settled(ledger, order('other-1007', { from: PAYER, project: 'other' }))
  const coin = {
    asset: `0x${'ab'.repeat(20)}`,
    details: { reference: 'coin', decimals: 18 },
  } as const
  await steps.settled(ledger, newEntry({ ...coin, value: 3n * 10n ** 18n }))
  const other = { id: 'other', tokens: [OTHER_TOKEN], merchant: { payTo: `0x${'0b'.repeat(20)}` } }
  return serveAdmin({ ...OPEN, ledger, projects: [...OPEN.projects!, other] })
})

const ask = (path: string, token = SHOP_TOKEN) =>
  api.get(`/api/v2/merchant/${path}`, { 'X-Project-Identify-Token': token })

/** The references of a list, sorted. */
async function found(query: Record<string, string>, token?: string): Promise<unknown[]> {
  const { status, body } = await ask(`settlements?${new URLSearchParams(query).toString()}`, token)
  expect(status).toBe(200)
  return body.settlements.map((one: { reference: string }) => one.reference).toSorted()
}

describe('a search', () => {
  const own = ['Order-1007', 'Order-2001', 'Order-2002']

  it.each<[string, string[]]>([
    [`${BEGIN}…${END}`, own],
    [`${BEGIN.toUpperCase().replace('X', 'x')}...${END}`, own],
    [BEGIN, own],
    [BEGIN.slice(0, 5), own],
    [PAYER, own],
    [` ${PAYER} `, own],
    [`${BEGIN}…ffff`, []],
    ['Order-2', ['Order-2001', 'Order-2002']],
    ['Order-1007-', ['Order-1007-b']],
    ['Order-1007', ['Order-1007', 'Order-1007-b']],
    // Only beginnings are found.
    ['2001', []],
    ['order-2', []],
    [`…${END}`, []],
    [BEGIN.slice(2), []],
    ['nothing', []],
    ['%', []],
    ['O_der', []],
  ])('for %s finds what people mean', async (search, references) => {
    expect(await found({ search })).toEqual(references)
  })

  it('finds only the payments of the project that asks', async () => {
    for (const search of [PAYER, BEGIN, `${BEGIN}…${END}`, 'o', 'other-1007'])
      expect(await found({ search }, OTHER_TOKEN)).toEqual(['other-1007'])
    expect(await found({ search: 'other-1007' })).toEqual([])
    const all = await api.ask('GET', `/settlements?search=${BEGIN}`)
    expect(all.body.settlements).toHaveLength(4)
    const one = await api.ask('GET', `/settlements?search=other-1007&project=other`)
    expect(one.body.settlements).toHaveLength(1)
  })

  it('finds pending payments of a project, however many others have whose payers begin so', async () => {
    const begin = '0xee5'
    const pending = (reference: string, overrides: Partial<LedgerEntry> = {}) =>
      order(reference, { from: `${begin}${newNonce().slice(2, 39)}`, ...overrides })
    await steps.reserved(ledger, pending('own-pending'))
    // Projects that are before it in the order of their ids, and after it.
    for (const project of ['another', 'zoo'])
      await Promise.all(
        Array.from({ length: 401 }, () => steps.reserved(ledger, pending('loud', { project }))),
      )
    expect(await found({ search: begin })).toEqual(['own-pending'])
    const ofOne = await api.ask('GET', `/settlements?search=${begin}&project=shop`)
    expect(ofOne.body.settlements).toHaveLength(1)
    const seen = new Set<string>()
    for (let cursor = ''; ;) {
      const page = await api.ask('GET', `/settlements?search=${begin}&limit=100${cursor}`)
      for (const { id } of page.body.settlements) seen.add(id)
      if (page.body.nextCursor === undefined) break
      cursor = `&cursor=${page.body.nextCursor}`
    }
    expect(seen.size).toBe(803)
  })

  it('goes with status, amount and token, in lists, sums and files', async () => {
    expect(await found({ search: BEGIN, status: 'failed' })).toEqual(['Order-2001'])
    expect(await found({ minAmount: '0.25', maxAmount: '0.25' })).toEqual(['Order-1007'])
    expect(await found({ minAmount: '0.250001', token: 'usdc' })).toEqual([
      'Order-1007-b',
      'Order-2001',
    ])
    expect(await found({ maxAmount: '0.0000109' })).toEqual(['Order-2002'])
    expect(await found({ minAmount: '1', token: USDC })).toEqual(['Order-1007-b'])
    // Of a token with other decimals.
    expect(await found({ minAmount: '2.5', maxAmount: '3' })).toEqual(['coin'])
    expect(await found({ token: 'EURC' })).toEqual([])
    const sums = await ask('settlements-summary?search=Order-1007&minAmount=0.5')
    expect(sums.body).toMatchObject({ count: 1, isMore: false, sums: [{ amount: '1000000' }] })
    const file = await ask('settlements.csv?search=Order-2001&token=USDC')
    expect(file.text.trim().split('\n').slice(1)).toEqual([expect.stringContaining('Order-2001')])
    const all = await api.ask('GET', '/settlements-summary?search=other-')
    expect(all.body).toMatchObject({ count: 1, isMore: false })
  })

  it('names what is wrong', async () => {
    const wrong = async (query: string) => (await ask(`settlements?${query}`)).body.errors
    expect(await wrong('search=%20')).toMatchObject([{ path: 'search' }])
    expect(await wrong(`search=a&payer=${PAYER}`)).toMatchObject([{ path: 'payer' }])
    expect(await wrong('minAmount=-1')).toMatchObject([{ path: 'minAmount' }])
    expect(await wrong('minAmount=2&maxAmount=1')).toMatchObject([{ path: 'maxAmount' }])
    expect(await wrong('token=USDC&updatedSince=2026-01-01')).toMatchObject([{ path: 'token' }])
    expect(await wrong('search=a&search=b')).toMatchObject([{ path: 'search' }])
    for (const text of ['0x', '0x1', '0x1…ab', 'a\u0000b'])
      expect(await wrong(new URLSearchParams({ search: text }).toString())).toMatchObject([
        { path: 'search' },
      ])
  })

  it('goes on from own records only: the place of another one would tell its reference', async () => {
    const { body } = await ask('settlements?search=other-', OTHER_TOKEN)
    const cursor = Buffer.from(`0.${body.settlements[0].id}`).toString('base64url')
    for (const search of ['Order-', '~', '0xa1'])
      expect((await ask(`settlements?search=${search}&cursor=${cursor}`)).body.errors).toEqual([
        { path: 'cursor', message: expect.stringContaining('is gone') },
      ])
    const own = await ask(`settlements?search=other-&cursor=${cursor}`, OTHER_TOKEN)
    expect(own.body.settlements).toEqual([])
  })
})

describe('a search of many payments', () => {
  const LATE = 1100

  beforeAll(async () => {
    await steps.settled(ledger, order('the-old-one', { project: 'other', from: PAYER, value: 77n }))
    for (let index = 0; index < LATE; index++)
      await ledger.payments.reserve(
        order(`Late-${index % 40}`, { project: 'other', from: `0xee${newNonce().slice(2, 40)}` }),
      )
  })

  /** All pages of a list, each of them full but the last. */
  async function pagesOf(query: string): Promise<{ id: string; reference: string }[]> {
    const all = []
    for (let cursor = ''; ;) {
      const { body } = await ask(`settlements?limit=100&${query}${cursor}`, OTHER_TOKEN)
      all.push(...body.settlements)
      if (body.nextCursor === undefined) return all
      expect(body.settlements).toHaveLength(100)
      cursor = `&cursor=${body.nextCursor}`
    }
  }

  it('finds each of them once, by reference, however many begin alike', async () => {
    const all = await pagesOf('search=Late-')
    expect(new Set(all.map(({ id }) => id)).size).toBe(LATE)
    const references = all.map(({ reference }) => reference)
    expect(references).toEqual(references.toSorted())
    expect(await pagesOf('search=0xee')).toHaveLength(LATE)
  })

  it('finds what is older than all of them on its first page', async () => {
    expect(await found({ search: 'the-' }, OTHER_TOKEN)).toEqual(['the-old-one'])
    expect(await found({ search: BEGIN }, OTHER_TOKEN)).toEqual(['other-1007', 'the-old-one'])
    const sums = await ask('settlements-summary?search=the-old', OTHER_TOKEN)
    expect(sums.body).toMatchObject({ count: 1, isMore: false, sums: [{ amount: '77' }] })
  })

  it('looks at 1,000 for an amount on each page, and goes on with the next', async () => {
    const path = 'settlements?maxAmount=0.000077&minAmount=0.000077'
    const first = await ask(path, OTHER_TOKEN)
    expect(first.body.settlements).toEqual([])
    const next = await ask(`${path}&cursor=${first.body.nextCursor}`, OTHER_TOKEN)
    expect(next.body.settlements).toMatchObject([{ reference: 'the-old-one' }])
    expect(next.body.nextCursor).toBeUndefined()
  })
})
