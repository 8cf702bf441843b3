import { createPublicClient, http, parseEventLogs, erc20Abi } from 'viem'
import type { Devnet } from '../../../src/tools/devnet/index.js'
import type { Bench } from '../bench.js'
import { signAll, type SignedPayments } from '../buyers.js'
import { callApi, callsFor, isApproved } from '../calls.js'
import { runClients } from '../load.js'
import { median } from '../statistics.js'
import { type Pays, SUFFIX } from '../servers/setup.js'
import { OFFICIAL, offerFor, OURS, settingsOf, withWorld } from '../world.js'

/** Payments that share a transaction at most, and one more, which keeps the relayer busy. */
const BATCH = 20
const AT_ONCE = BATCH + 1
/** Blocks slow enough that whatever comes while one transaction is out gathers. */
const BLOCK_SECONDS = 1
const TIMES = 6

/** Gas of a settlement, from the receipts: one at a time, and where twenty share a transaction. */
export function measureGas(bench: Bench): Promise<void> {
  return measureGasOf(bench, 'erc3009')
}

/** The same for payments of a kind. */
export async function measureGasOf(bench: Bench, pays: Pays): Promise<void> {
  const settings = await settingsOf()
  const alone: Figures = {}
  const sizes: Figures = {}
  const gathered: Figures = {}
  const byOne: Figures = {}
  for (const { column, stack, relayers } of [OURS, OFFICIAL]) {
    const contestant = { column, stack, relayers, pays }
    bench.note(`gas${SUFFIX[pays]}: ${column}`)
    const requirements = offerFor(settings, { stack, pays })
    const crowd = await signAll(bench.buyers.slice(0, AT_ONCE), TIMES, requirements)
    const [own = []] = await signAll(bench.buyers.slice(0, 1), (1 + AT_ONCE) * TIMES, requirements)
    const toCall = callApi(stack, 'settle', requirements)
    const world = { contestant, blockTime: BLOCK_SECONDS }
    await withWorld(bench, world, async ({ url }, { devnet }) => {
      let seen = 0
      /** The transactions that come of it. */
      const settle = async (some: SignedPayments): Promise<readonly Settlements[]> => {
        await runClients(callsFor(url, some, toCall), isApproved)
        const all = await transactions(devnet)
        const own = all.slice(seen)
        seen = all.length
        return own
      }
      // The first one writes what those that follow only change.
      alone[column] = median((await settle([own.slice(0, TIMES)])).slice(1).map(gasEach))
      const full = fullest(await settle(crowd))
      sizes[column] = median(full.map(({ transfers }) => transfers))
      gathered[column] = median(full.map(gasEach))
      byOne[column] = median(fullest(await settle(inTurns(own.slice(TIMES)))).map(gasEach))
    })
  }
  const add = (figure: string, unit: string, figures: Figures): void =>
    bench.table.add(figure.replace(/settlements?/, `$&${SUFFIX[pays]}`), unit, figures)
  add('gas a settlement, alone', 'gas', alone)
  add(`settlements a transaction, ${AT_ONCE} at once`, '', sizes)
  add(`gas a settlement, ${AT_ONCE} buyers at once`, 'gas', gathered)
  add(`gas of settlements at once ÷ alone, ${AT_ONCE} buyers`, '', ratio(gathered, alone))
  add(`gas a settlement, ${AT_ONCE} at once by one buyer`, 'gas', byOne)
  add('gas of settlements at once ÷ alone, one buyer', '', ratio(byOne, alone))
}

/** By contestant. */
type Figures = Record<string, number>

const ratio = (figures: Figures, to: Figures): Figures =>
  Object.fromEntries(
    Object.entries(figures).map(([column, figure]) => [column, figure / (to[column] ?? NaN)]),
  )

/** Deals one buyer's payments out to as many clients as there are at once. */
function inTurns(payments: SignedPayments[number]): SignedPayments {
  return Array.from({ length: AT_ONCE }, (_, client) =>
    payments.filter((_payment, index) => index % AT_ONCE === client),
  )
}

/** Those with as many payments as go together. */
function fullest(all: readonly Settlements[]): readonly Settlements[] {
  const most = Math.min(BATCH, Math.max(...all.map(({ transfers }) => transfers)))
  return all.filter(({ transfers }) => transfers >= most)
}

const gasEach = ({ gas, transfers }: Settlements): number => gas / transfers

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
