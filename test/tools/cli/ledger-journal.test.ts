/** `ledger export --format journal`: what a real chain has moved, as entries for accounting, and as hledger reads them. */
import { describe, expect, it } from '@jest/globals'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import { runCli } from '../../../src/tools/cli/cli.js'
import { page } from '../../docs/documents.js'
import { temporaryFolder, useCleanup } from '../../support/cleanup.js'
import { askNode } from '../../support/core.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../../support/devnet.js'
import { newPayer, toHex } from '../../support/on-chain.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { readCsv } from '../../support/read-csv.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { openShop } from '../../support/shop.js'
import { signUpTo } from '../../support/sign-up-to.js'
import { useOpened } from '../../support/use-opened.js'
import { permit2Of } from '../devnet/permit2.js'

const GWEI = 10n ** 9n
const DATA_FEE = 7_000n * GWEI
const MERCHANT_API = '/api/v2/merchant/settlements'

const devnet = useDevnet()
const toEnd = useCleanup()
/** A node whose receipts have a fee for data, as those of rollups. */
const proxy = useOpened(() => startRpcProxy(devnet.rpcUrl))
const postgres = await findPostgres()
const relayer = () => privateKeyToAddress(devnet.relayerKeys[0]!)
const weiOf = async () =>
  BigInt(await askNode<string>(devnet, 'eth_getBalance', relayer(), 'latest'))

interface Place {
  readonly env: Readonly<Record<string, string>>
  readonly ledger: LedgerStore
}

async function placeOf(name: string, cwd: string): Promise<Place> {
  if (name === 'SQLite') return { env: {}, ledger: openSqliteLedger(join(cwd, 'data/ledger.db')) }
  const schema = await createSchema(postgres!)
  toEnd.push(() => schema.drop())
  return { env: { X402_DATABASE_URL: schema.url }, ledger: openPostgresLedger(schema.url) }
}

/** Exports the journal of a ledger whose gateway has ended. */
async function exportJournal(cwd: string, env: Place['env'], ...flags: readonly string[]) {
  let text = ''
  const code = await runCli(['ledger', 'export', '--format', 'journal', ...flags], {
    ...{ cwd, env, signal: new AbortController().signal },
    print: () => undefined,
    complain: (line) => expect(line).toBe(''),
    write: async (part) => void (text += part),
  })
  expect(code).toBe(0)
  return text
}

type Row = ReturnType<typeof readCsv>[number]

/** Sums a column of units by what `nameOf` says. */
function sums(rows: readonly Row[], nameOf: (row: Row) => string): Record<string, bigint> {
  const sum: Record<string, bigint> = {}
  for (const row of rows) sum[nameOf(row)] = (sum[nameOf(row)] ?? 0n) + BigInt(row['units']!)
  return sum
}

describe.each(['SQLite', ...(postgres === undefined ? [] : ['PostgreSQL'])])('on %s', (name) => {
  it('exports entries that sum to zero and equal the chain', async () => {
    const cwd = temporaryFolder(toEnd)
    const { env, ledger } = await placeOf(name, cwd)
    const merchant = await newPayer(devnet)
    const [payer] = devnet.payers
    await permit2Of(devnet).approve(payer!.address)
    const project = { id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: merchant.address } }
    const before = { wallet: await balanceOf(devnet, merchant.address), wei: await weiOf() }
    proxy.fault = async (method, [transaction]) => {
      if (method !== 'eth_getTransactionReceipt') return undefined
      const receipt = await askNode<object | null>(devnet, method, transaction)
      return { kind: 'answer', result: receipt && { ...receipt, l1Fee: toHex(DATA_FEE) } }
    }
    const shop = await openShop(
      devnet,
      (app, { x402Protect, gatewayRouter }) => {
        app.get('/fixed', x402Protect('$0.25'), (_req, res) => void res.send('sold'))
        app.get('/metered', x402Protect({ upTo: '$0.10' }), (req, res) => {
          paidRequest(req).charge('$0.0234')
          res.send('sold')
        })
        app.use(gatewayRouter())
      },
      {
        ledger,
        projects: [project],
        networks: {
          'base-sepolia': { rpcUrl: proxy.url, relayerKeys: [devnet.relayerKeys[0]!] },
        },
      },
    )
    for (let count = 0; count < 2; count++)
      expect((await shop.buy('/fixed', payer!)).status).toBe(200)
    const metered = await signUpTo(await shop.ask('/metered'), payer!)
    expect((await shop.pay('/metered', metered)).status).toBe(200)

    const headers = { 'X-Project-Identify-Token': SHOP_TOKEN, 'Content-Type': 'application/json' }
    const get = async (path: string) => (await fetch(shop.url + path, { headers })).json()
    const { settlements } = (await get(MERCHANT_API)) as {
      settlements: { id: string; amount: string }[]
    }
    const { id } = settlements.find(({ amount }) => amount === '250000')!
    const { typedData } = (await get(`${MERCHANT_API}/${id}/refunds/prepare?amount=100000`)) as {
      typedData: { message: object }
    }
    const signature = await privateKeyToAccount(merchant.privateKey).signTypedData(
      typedData as never,
    )
    const refunded = await fetch(`${shop.url}${MERCHANT_API}/${id}/refunds`, {
      ...{ method: 'POST', headers },
      body: JSON.stringify({ authorization: typedData.message, signature }),
    })
    expect(refunded.status).toBe(201)
    await shop.close()
    await ledger.close()

    const text = await exportJournal(cwd, env)
    const rows = readCsv(text)
    const byAsset = sums(rows, ({ network, asset }) => `${network} ${asset}`)
    expect(Object.values(byAsset)).toEqual([0n, 0n])
    const byAccount = sums(rows, ({ account, merchant: of }) => `${account} ${of}`)
    const earned = (await balanceOf(devnet, merchant.address)) - before.wallet
    expect(byAccount).toMatchObject({
      'wallet shop': earned,
      'sales shop': -523_400n,
      'refunds shop': 100_000n,
    })
    expect(earned).toBe(423_400n)
    // Each of the four transactions is rounded up to gwei.
    const paid = before.wei - (await weiOf()) + 4n * DATA_FEE
    expect(byAccount['relayer ']).toBeLessThanOrEqual(-paid)
    expect(byAccount['relayer ']).toBeGreaterThan(-paid - 4n * GWEI)
    expect((byAccount['gas '] ?? 0n) + byAccount['gas shop']!).toBe(-byAccount['relayer ']!)
    expect(byAccount['gas shop']).toBeGreaterThan(0n)
    const sales = rows.filter(({ account }) => account === 'sales')
    expect(sales.reduce((sum, row) => sum + Number(row['count']), 0)).toBe(3)
    expect(sales[0]).toMatchObject({
      ...{ network: 'eip155:84532', testnet: 'true', symbol: 'USDC', address: '' },
      ...{ currency: 'USD', rate: '1.00000000' },
    })
    expect(readCsv(await exportJournal(cwd, env, '--to', '2020-01-01'))).toEqual([])

    if (hledger() === undefined) return
    // As if it were of a real network: the rules leave test networks out.
    writeFileSync(join(cwd, 'journal.csv'), text.replaceAll(',true,', ',,'))
    const rules = page('operator.md').blocks.find(({ meta }) => meta === 'file=journal.csv.rules')
    writeFileSync(join(cwd, 'journal.csv.rules'), rules!.code)
    const balance = hledger(
      '-f',
      join(cwd, 'journal.csv'),
      'balance',
      '--empty',
      '--output-format=csv',
    )
    expect(balance).toContain('"x402:clearing","0"')
    expect(balance).toContain('"x402:sales:shop","-0.523400 USDC"')
  })
})

/** Runs hledger. @returns `undefined` where it is not installed. */
function hledger(...args: readonly string[]): string | undefined {
  try {
    return execFileSync('hledger', args.length === 0 ? ['--version'] : args, { encoding: 'utf8' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
