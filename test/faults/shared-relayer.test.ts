import { afterAll, describe, expect, it } from '@jest/globals'
import { parseTransaction } from 'viem'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { useDevnet } from '../support/devnet.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { isSend } from '../support/rpc-proxy.js'
import { useWorlds } from './use-worlds.js'
import type { WorldOptions } from './world.js'
import { useCleanup } from '../support/cleanup.js'

// Blocks come by the clock: transactions that reach the node out of order are mined all the same.
const devnet = useDevnet({ blockTime: 0.1 })
const open = useWorlds(devnet, { hasSync: true })
const postgres = await findPostgres()
const toEnd = useCleanup(afterAll)

async function newSchema(): Promise<Pick<WorldOptions, 'ledger'>> {
  const schema = await createSchema(postgres!)
  toEnd.push(() => schema.drop())
  return { ledger: schema.url }
}

const ledgers: [string, () => Promise<Pick<WorldOptions, 'ledger'>>][] = [
  ['SQLite file', async () => ({})],
]
if (postgres !== undefined) ledgers.push(['PostgreSQL', newSchema])

describe.each(ledgers)('gateways with one key on one %s', (_name, ledger) => {
  it.each([2, 3])(
    'settle 60 payments through %s gateways with no nonce twice and no gap',
    async (count) => {
      const world = await open({
        ...(await ledger()),
        options: { settleTimeoutMs: 50_000 },
      })
      // Each transaction is given out once: none is replaced, however slow the machine is.
      const network = { replaceAfterSeconds: 300 }
      const gateways = await Promise.all(
        Array.from({ length: count }, () => world.start({ network })),
      )
      const sent = new Map<number, Set<Hex>>()
      world.proxy.fault = (method, [raw]) => {
        if (!isSend(method)) return undefined
        const { nonce = 0 } = parseTransaction(raw as Hex)
        sent.set(nonce, (sent.get(nonce) ?? new Set()).add(raw as Hex))
        return undefined
      }
      const payments = await Promise.all(Array.from({ length: 60 }, () => world.sign()))
      const answers = await Promise.all(
        payments.map((payment, index) =>
          world.present(gateways[index % count]!, payment, index % 2 ? 'settle' : '/report'),
        ),
      )
      expect(answers.filter(({ delivered }) => delivered)).toHaveLength(60)
      const nonces = [...sent.keys()].toSorted((one, other) => one - other)
      expect(nonces).toEqual(nonces.map((_nonce, index) => index))
      expect([...sent.values()].map(({ size }) => size)).toEqual(nonces.map(() => 1))
      const mined = await world.node(
        'eth_getTransactionCount',
        world.relayers[0]!.address,
        'latest',
      )
      expect(Number(mined)).toBe(nonces.length)
      expect((await world.evidence()).transfers).toHaveLength(60)
    },
  )

  it('send what a killed one has recorded, long before that would be replaced', async () => {
    const world = await open({ ...(await ledger()), options: { settleTimeoutMs: 50_000 } })
    const [one, other] = await Promise.all([world.start(), world.start()])
    let left: { readonly raw: unknown; readonly at: number } | undefined
    let tookMs: number | undefined
    world.proxy.fault = (method, [raw]) => {
      if (!isSend(method)) return undefined
      if (left !== undefined) {
        if (raw === left.raw) tookMs ??= performance.now() - left.at
        return undefined
      }
      left = { raw, at: performance.now() }
      void one.kill()
      return { kind: 'drop_request' }
    }
    const payment = await world.sign()
    expect(await world.present(one, payment)).toMatchObject({ status: 0 })
    // What comes next does not wait for more than that.
    const next = await world.present(other, await world.sign())
    expect(next).toMatchObject({ delivered: true })
    // Two seconds where nobody else uses the machine. What is stuck is replaced after 30 s.
    expect(tookMs).toBeLessThan(20_000)
    expect(await world.presentUntilDecided(other, payment)).toMatchObject({ delivered: true })
    const mined = await world.node('eth_getTransactionCount', world.relayers[0]!.address, 'latest')
    expect(Number(mined)).toBe(2)
  })

  it('sell soon after starting, while another one sends from the same key', async () => {
    const world = await open({ ...(await ledger()), lockMs: 30_000 })
    const first = await world.start()
    const over = new AbortController()
    const selling = (async () => {
      while (!over.signal.aborted)
        expect(await world.present(first, await world.sign())).toMatchObject({ delivered: true })
    })()
    const tookMs: number[] = []
    for (let added = 0; added < 3; added++) {
      const payment = await world.sign()
      const gateway = await world.start()
      const listensAt = performance.now()
      expect(await world.present(gateway, payment)).toMatchObject({ delivered: true })
      tookMs.push(performance.now() - listensAt)
    }
    over.abort()
    // A second where nobody else uses the machine. Nothing that lasts for a lock is waited for.
    expect(Math.min(...tookMs)).toBeLessThan(15_000)
    await selling
  })
})
