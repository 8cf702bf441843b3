import { type Devnet, startDevnet } from '../../src/tools/devnet/index.js'
import { executorOf } from '../../src/core/chain/executor.js'
import { addressOfKey } from '../../src/shared/crypto/address-of-key.js'
import type { PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { offerOf } from '../support/core.js'
import { approve, fund } from './buyers.js'
import type { Bench } from './bench.js'
import { sendBatch } from '../../src/tools/devnet/send-batch.js'
import { createLedger, type DurableLedger, type LedgerPlace } from './ledgers.js'
import { type ServerProcess, startServer } from './server-process.js'
import {
  type BareAnswer,
  type Pays,
  type Stack,
  WARM_UP,
  type WarmUpChain,
} from './servers/setup.js'
import type { Column } from './table.js'

/** A contestant: a stack, how many relayers it has, and where it keeps its payments. */
export interface Contestant {
  readonly column: Exclude<Column, 'bare'>
  readonly stack: 'ours' | 'official'
  readonly relayers: number
  /** How it is paid. @defaultValue 'erc3009' */
  readonly pays?: Pays
  /** See {@link ServerOptions.entry}. */
  readonly entry?: string
  /** @defaultValue in memory */
  readonly ledger?: DurableLedger
  /** See {@link ServerSetup.publicUrl}. */
  readonly publicUrl?: string
}

export const OURS: Contestant = { column: 'ours', stack: 'ours', relayers: 1 }
export const OURS_WITH_THREE: Contestant = { column: 'oursWithThree', stack: 'ours', relayers: 3 }
export const SQLITE: Contestant = { ...OURS, column: 'sqlite', ledger: 'sqlite' }
export const POSTGRES: Contestant = { ...OURS, column: 'postgres', ledger: 'postgres' }
export const OFFICIAL: Contestant = { column: 'official', stack: 'official', relayers: 1 }

/** Our stack with each ledger, as another checkout has built it, if `--before` names one. */
export function beforeOf(
  { before }: Bench,
  columns: readonly (keyof typeof BEFORE)[] = ['before'],
): readonly Contestant[] {
  if (before === undefined) return []
  return columns.map((column) => ({ ...BEFORE[column], column, entry: before }))
}

const BEFORE = { before: OURS, beforeSqlite: SQLITE, beforePostgres: POSTGRES } as const

/**
 * Milliseconds between blocks that are mined for nobody in particular. With instant mining, anvil
 * leaves a transaction lying that has overtaken the one before it, until there is another block.
 */
const HEARTBEAT_MS = 250

/** A chain of the benchmark's. */
interface BenchDevnet extends Devnet {
  /** Ends its heartbeat, once nobody buys on it any more. */
  rest(): void
}

/** How a chain of the benchmark differs from the plain one. */
export interface ChainOptions {
  readonly blockTime?: number | undefined
  /** For payments by Permit2, all buyers have allowed it, and the executor of one relayer is there. */
  readonly pays?: Pays | undefined
}

/** A chain of its own, on which every buyer has money. */
export async function openDevnet(
  bench: Bench,
  { blockTime, pays = 'erc3009' }: ChainOptions = {},
): Promise<BenchDevnet> {
  const devnet = await startDevnet(blockTime === undefined ? {} : { blockTime })
  await fund(devnet, bench.buyers)
  if (pays !== 'erc3009') {
    await approve(devnet, bench.buyers)
    const { address, code } = executorOf([relayerOf(devnet)])
    await sendBatch(devnet.rpcUrl, [['anvil_setCode', address, code]])
  }
  const beat = (): void => void devnet.mine().catch(() => undefined)
  const heartbeat = blockTime === undefined ? setInterval(beat, HEARTBEAT_MS) : undefined
  const rest = (): void => clearInterval(heartbeat)
  return {
    ...devnet,
    rest,
    close() {
      rest()
      return devnet.close()
    },
  }
}

/** A chain beside the measured one, to warm servers up on. */
async function openWarmUpChain(bench: Bench, pays: Pays | undefined): Promise<BenchDevnet> {
  const devnet = await openDevnet(bench, { pays })
  await sendBatch(devnet.rpcUrl, [['anvil_setChainId', WARM_UP.chainId]])
  return devnet
}

/** What is the same on every devnet, for signing before there is one. */
export async function settingsOf(): Promise<Devnet> {
  const devnet = await startDevnet()
  await devnet.close()
  return devnet
}

const relayerOf = ({ relayerKeys: [key = '0x'] }: Devnet) => addressOfKey(key)

/** What a server with one relayer offers, which is paid in this way. */
export function offerFor(
  devnet: Devnet,
  { stack, pays = 'erc3009' }: Pick<Contestant, 'stack' | 'pays'>,
  overrides: Partial<PaymentRequirements> = {},
): PaymentRequirements {
  const offer = offerOf(devnet, overrides)
  if (pays === 'erc3009') return offer
  const extra = { ...offer.extra, assetTransferMethod: 'permit2' }
  if (pays === 'permit2') return { ...offer, extra }
  const relayer = relayerOf(devnet)
  const facilitatorAddress = stack === 'ours' ? executorOf([relayer]).address : relayer
  return { ...offer, scheme: 'upto', extra: { ...extra, facilitatorAddress } }
}

/** How a server of the benchmark differs from the plain one. */
export interface ServerOptions {
  /** Where the node is asked. @defaultValue the devnet itself */
  readonly rpcUrl?: string
  readonly relayers?: number
  /** @defaultValue the first of the devnet's, as many as `relayers` says */
  readonly relayerKeys?: Devnet['relayerKeys']
  /** See {@link ServerSetup.pays}. */
  readonly pays?: Pays
  /** See {@link ServerSetup.metrics}. */
  readonly metrics?: boolean
  /** See {@link ServerSetup.publicUrl}. */
  readonly publicUrl?: string
  /** URL of the package's entry to load. @defaultValue this checkout's build */
  readonly entry?: string
  /** See {@link ServerSetup.ledger}. */
  readonly ledger?: string
  readonly answer?: BareAnswer
  readonly heap?: number
  /** See {@link ServerSetup.warmUpChain}. */
  readonly warmUpChain?: WarmUpChain
}

/** Starts a server that is paid on a devnet. */
export function openServer(
  devnet: Devnet,
  stack: Stack,
  {
    rpcUrl = devnet.rpcUrl,
    relayers = 1,
    relayerKeys = devnet.relayerKeys.slice(0, relayers),
    ...options
  }: ServerOptions = {},
): Promise<ServerProcess> {
  const payTo = devnet.merchant.address
  return startServer({ ...options, stack, rpcUrl, relayerKeys, payTo })
}

/** What a contestant is measured in. */
export interface World {
  readonly devnet: Devnet
  readonly servers: readonly ServerProcess[]
  readonly ledger: LedgerPlace | undefined
  readonly warmUpChain: BenchDevnet | undefined
}

/** How a {@link World} is made. */
interface WorldOptions {
  readonly contestant: Contestant
  readonly blockTime?: number
  /** Servers. @defaultValue 1 */
  readonly count?: number
  /** Whether there is a second chain. @defaultValue false */
  readonly warmsUpElsewhere?: boolean
}

/** Runs something against a fresh chain and ledger with one server, or several, and clears up. */
export async function withWorld<T>(
  bench: Bench,
  {
    contestant: { ledger: kind, ...contestant },
    blockTime,
    count = 1,
    warmsUpElsewhere = false,
  }: WorldOptions,
  run: (server: ServerProcess, world: World) => Promise<T>,
): Promise<T> {
  const endings: (() => Promise<void>)[] = []
  try {
    const devnet = await openDevnet(bench, { blockTime, pays: contestant.pays })
    endings.unshift(() => devnet.close())
    const warmUpChain = warmsUpElsewhere ? await openWarmUpChain(bench, contestant.pays) : undefined
    if (warmUpChain) endings.unshift(() => warmUpChain.close())
    const ledger = kind && (await createLedger(kind))
    if (ledger) endings.unshift(() => ledger.drop())
    const options = {
      ...contestant,
      ...(ledger && { ledger: ledger.location }),
      ...(warmUpChain && {
        warmUpChain: { rpcUrl: warmUpChain.rpcUrl, asset: warmUpChain.asset },
      }),
    }
    const servers: ServerProcess[] = []
    for (let started = 0; started < count; started++) {
      const server = await openServer(devnet, contestant.stack, options)
      endings.unshift(() => server.close())
      servers.push(server)
    }
    const [first] = servers
    if (first === undefined) throw new TypeError('count is at least 1')
    return await run(first, { devnet, servers, ledger, warmUpChain })
  } finally {
    for (const end of endings) await end()
  }
}
