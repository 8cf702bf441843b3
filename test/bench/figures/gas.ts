import { createPublicClient, http, parseEventLogs, erc20Abi } from 'viem'
import type { Devnet } from '../../../src/devnet/index.js'
import type { Bench } from '../bench.js'
import { offerOf } from '../../support/core.js'
import { signAll, type SignedPayments } from '../buyers.js'
import { callApi, callsFor, isApproved } from '../calls.js'
import { runClients } from '../load.js'
import { median } from '../statistics.js'
import { OFFICIAL, OURS, settingsOf, withWorld } from '../world.js'

const BATCH = 20
/** Blocks slow enough that whatever comes while one transaction is out gathers. */
const BLOCK_SECONDS = 1
const TIMES = 6

/** Gas of a settlement, from the receipts: one at a time, and as a crowd of twenty-one has them. */
export async function measureGas(bench: Bench): Promise<void> {
  const requirements = offerOf(await settingsOf())
  const payments = await signAll(bench.buyers.slice(0, BATCH + 1), 2 * TIMES, requirements)
  const [first = []] = payments
  const alone: Record<string, number> = {}
  const gathered: Record<string, number> = {}
  const sizes: Record<string, number> = {}
  for (const contestant of [OURS, OFFICIAL]) {
    const { column, stack } = contestant
    bench.note(`gas: ${column}`)
    const toCall = callApi(stack, 'settle', requirements)
    await withWorld(bench, { contestant, blockTime: BLOCK_SECONDS }, async ({ url }, devnet) => {
      const settle = (some: SignedPayments) => runClients(callsFor(url, some, toCall), isApproved)
      // The first one writes what those that follow only change.
      await settle([first.slice(0, TIMES)])
      alone[column] = median((await transactions(devnet)).slice(1).map(({ gas }) => gas))
      const before = (await transactions(devnet)).length
      await settle(payments.map((own) => own.slice(TIMES)))
      const batches = (await transactions(devnet)).slice(before)
      const largest = Math.max(...batches.map(({ transfers }) => transfers))
      const full = batches.filter(({ transfers }) => transfers >= Math.min(BATCH, largest))
      gathered[column] = median(full.map(({ gas, transfers }) => gas / transfers))
      sizes[column] = median(full.map(({ transfers }) => transfers))
    })
  }
  const ratios = Object.keys(alone).map((column) => [
    column,
    (gathered[column] ?? NaN) / (alone[column] ?? NaN),
  ])
  bench.table.add('gas a settlement, alone', 'gas', alone)
  bench.table.add(`gas a settlement, ${BATCH + 1} at once`, 'gas', gathered)
  bench.table.add(`settlements a transaction, ${BATCH + 1} at once`, '', sizes)
  bench.table.add('gas at once ÷ gas alone', '', Object.fromEntries(ratios))
}

interface Settlements {
  readonly gas: number
  readonly transfers: number
}

/** Every transaction that has paid the merchant, with how many payments were in it. */
async function transactions(devnet: Devnet): Promise<readonly Settlements[]> {
  const client = createPublicClient({ transport: http(devnet.rpcUrl) })
  const found: Settlements[] = []
  const last = await client.getBlockNumber()
  for (let blockNumber = 0n; blockNumber <= last; blockNumber++) {
    const block = await client.getBlock({ blockNumber })
    for (const hash of block.transactions) {
      const { gasUsed, logs } = await client.getTransactionReceipt({ hash })
      const transfers = parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs }).filter(
        ({ args }) => args.to === devnet.merchant.address,
      ).length
      if (transfers > 0) found.push({ gas: Number(gasUsed), transfers })
    }
  }
  return found
}
