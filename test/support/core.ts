import { RpcChain } from '../../src/core/chain/chain.js'
import type { Chain } from '../../src/core/chain/chain.js'
import type { Devnet } from '../../src/tools/devnet/index.js'
import { sendBatch } from '../../src/tools/devnet/send-batch.js'
import { createEventBus, type GatewayEvents } from '../../src/core/schemes/events.js'
import { CodeGas } from '../../src/core/schemes/evm/network/code-gas.js'
import { EvmScheme, openEvmContext } from '../../src/core/schemes/evm/evm-scheme.js'
import { exactFormat } from './exact-format.js'
import { facilitatorOfRelayers } from '../../src/core/schemes/evm/formats.js'
import { uptoFormat } from '../../src/core/schemes/evm/upto.js'
import { ProjectGas } from '../../src/core/schemes/evm/network/project-gas.js'
import { settlementAssets } from '../../src/core/schemes/evm/transfer/settlement-asset.js'
import { createSettlementNetwork } from '../../src/core/schemes/evm/network/settlement-network.js'
import type { ReservingFacilitator } from '../../src/core/facilitator/facilitator.js'
import { isRefusal, type MerchantTerms, type Reservation } from '../../src/core/schemes/scheme.js'
import { createSchemeFacilitator } from '../../src/core/facilitator/scheme-facilitator.js'
import { RelayerPool } from '../../src/core/relayer/pool.js'
import type { LedgerStore } from '../../src/ledger/index.js'
import { Counters } from '../../src/ledger/counters.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { type Asset, findKnownAsset } from '../../src/shared/money/assets.js'
import { findNetwork, type Network } from '../../src/shared/protocol/networks.js'
import type {
  Hex,
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
} from '../../src/shared/protocol/payment.js'
import { balanceOf } from './balance-of.js'
import { decoded } from './decoded.js'
import { signPayment, type SigningOverrides, type TestPayer } from './sign-payment.js'
import { withWrittenCalls } from './written-calls.js'

/** The devnet's network. */
const baseSepolia: Network = findNetwork('base-sepolia')!
/** The devnet's token. */
export const usdc: Asset = findKnownAsset(baseSepolia, 'USDC')!

/** How a core of a test differs from a gateway's. */
export interface CoreOptions {
  /** A proxy's. @defaultValue the devnet's */
  readonly rpcUrl?: string
  readonly relayerKey?: Hex
  readonly ledger?: LedgerStore
  readonly now?: () => number
  /** @defaultValue 50000: a busy machine decides no test */
  readonly settleTimeoutMs?: number
  /** Milliseconds that a transaction waits for payments that are being verified. */
  readonly gatherMs?: number
  /** Milliseconds after which a transaction is replaced. */
  readonly stuckMs?: number
  /** Milliseconds between two looks at what is open. */
  readonly reconcileIntervalMs?: number
  /** Milliseconds a node is given to answer. @defaultValue 30000 */
  readonly rpcTimeoutMs?: number
  readonly acceptContractPayers?: boolean
  readonly allowedFactories?: readonly Hex[]
  /** Beside the devnet's token. */
  readonly assets?: readonly Asset[]
}

/** A facilitator on a devnet, with all that it is made of. */
export interface Core {
  readonly facilitator: ReservingFacilitator
  readonly chain: Chain
  readonly relayers: RelayerPool
  /** The first relayer. */
  readonly relayer: { readonly address: Hex }
  readonly ledger: LedgerStore
  /** What happened, in order. */
  readonly events: { readonly name: keyof GatewayEvents; readonly event: object }[]
  /** What was logged as an error. */
  readonly errors: { readonly message: string; readonly fields: object | undefined }[]
  /** What was logged as a warning. */
  readonly warnings: string[]
  /** Names of the events, in order. */
  happened(): (keyof GatewayEvents)[]
  /** Resolves when an event happens, or has happened. */
  until<Name extends keyof GatewayEvents>(name: Name): Promise<GatewayEvents[Name]>
  close(): void
}

/** Makes a core as a gateway does. */
export function openCore(devnet: Devnet, options: CoreOptions = {}): Core {
  const { rpcUrl = devnet.rpcUrl, relayerKey = devnet.relayerKeys[0]! } = options
  const { rpcTimeoutMs = 30_000 } = options
  const { ledger = createMemoryLedger(), now = Date.now, settleTimeoutMs = 50_000 } = options
  const events: Core['events'] = []
  const errors: Core['errors'] = []
  const warnings: string[] = []
  const bus = createEventBus((error) => errors.push({ message: 'listener', fields: { error } }))
  for (const name of eventNames) bus.on(name, (event) => events.push({ name, event }))
  const closing = new AbortController()
  const chain = new RpcChain({ network: baseSepolia, rpcUrl, timeoutMs: rpcTimeoutMs })
  const logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (message: string) => void warnings.push(message),
    error: (message: string, fields?: object) => void errors.push({ message, fields }),
  }
  const relayers = new RelayerPool({
    chain,
    privateKeys: [relayerKey],
    ledger: withWrittenCalls(ledger),
    logger,
    stuckMs: options.stuckMs,
    gatherMs: options.gatherMs,
    onFunds({ relayer, balance, becameLow }) {
      if (becameLow) bus.emit('relayerLow', { network: baseSepolia.caip2, relayer, balance })
    },
    closed: closing.signal,
  })
  const assets = settlementAssets([usdc, ...(options.assets ?? [])])
  const context = openEvmContext({
    networks: new Map([
      [
        baseSepolia.caip2,
        createSettlementNetwork({
          chain,
          relayers,
          assets,
          payments: ledger.payments,
          projectGas: new ProjectGas({
            counters: new Counters({ store: ledger.counts, logger, now }),
            ...{ store: ledger.counts, now, projects: [] },
          }),
          now,
          acceptContractPayers: options.acceptContractPayers,
          allowedFactories: options.allowedFactories,
          codeGas: new CodeGas({
            chainId: baseSepolia.chainId,
            counters: new Counters({ store: ledger.counts, logger, now }),
            store: ledger.counts,
            now,
          }),
          onLoss: (loss) => bus.emit('relayerLoss', { network: baseSepolia.caip2, ...loss }),
        }),
      ],
    ]),
    ledger,
    events: bus,
    logger,
    now,
    settleTimeoutMs,
    reconcileIntervalMs: options.reconcileIntervalMs,
    closed: closing.signal,
  })
  const facilitatorOf = () => facilitatorOfRelayers(relayers.addresses, relayers.executor)
  const schemes = new Map([
    ['exact', new EvmScheme(context, exactFormat)],
    [
      'upto',
      new EvmScheme(context, uptoFormat({ facilitatorOf, findPermitDomain: () => undefined })),
    ],
  ])
  const facilitator = createSchemeFacilitator({ schemes, events: bus })
  return {
    facilitator,
    chain,
    relayers,
    relayer: { address: relayers.addresses[0] },
    ledger,
    events,
    errors,
    warnings,
    happened: () => events.map(({ name }) => name),
    until: (name) =>
      new Promise((resolve) => {
        const past = events.find((one) => one.name === name)
        if (past === undefined) bus.on(name, resolve)
        else resolve(past.event as never)
      }),
    close: () => closing.abort(),
  }
}

const eventNames = [
  'verified',
  'refused',
  'submitted',
  'settled',
  'failed',
  'pending',
  'relayerLow',
  'relayerLoss',
] as const

/** An entry of `accepts` for one cent, or as told. */
export function offerOf(
  devnet: Devnet,
  overrides: Partial<PaymentRequirements> = {},
): PaymentRequirements {
  return {
    scheme: 'exact',
    network: baseSepolia.caip2,
    amount: '10000',
    payTo: devnet.merchant.address,
    maxTimeoutSeconds: 300,
    asset: devnet.asset,
    extra: { name: 'USDC', version: '2' },
    ...overrides,
  }
}

/** What the devnet's merchant takes. */
export function termsOf(devnet: Devnet): MerchantTerms {
  return { payTo: devnet.merchant.address, accepts: [usdc], project: 'shop' }
}

/** Reserves a payment of one cent. */
async function reserveOn(
  { facilitator }: Core,
  devnet: Devnet,
  payment: PaymentPayload,
): Promise<Reservation> {
  const reserved = await facilitator.reserve(decoded(payment, offerOf(devnet)), termsOf(devnet))
  if (isRefusal(reserved)) throw new Error(reserved.refused)
  return reserved
}

/** Signs, reserves and settles payments of one cent on a devnet, and asks what the merchant has. */
export function payingOn(devnet: Devnet) {
  return {
    sign: (payer: TestPayer | number = 0, overrides?: SigningOverrides): Promise<PaymentPayload> =>
      signPayment(
        typeof payer === 'number' ? devnet.payers[payer]! : payer,
        offerOf(devnet),
        overrides,
      ),
    reserve: (core: Core, payment: PaymentPayload): Promise<Reservation> =>
      reserveOn(core, devnet, payment),
    settle: ({ facilitator }: Core, payment: PaymentPayload): Promise<SettleResponse> =>
      facilitator.settle(payment, offerOf(devnet), termsOf(devnet)),
    merchantBalance: (): Promise<bigint> => balanceOf(devnet, devnet.merchant.address),
  }
}

/** Asks the node itself. */
export async function askNode<T = unknown>(
  devnet: Devnet,
  method: string,
  ...params: unknown[]
): Promise<T> {
  const [answer] = await sendBatch(devnet.rpcUrl, [[method, ...params]])
  return answer as T
}

/** Mines a block and tells its time, in Unix seconds. */
export async function chainTime(devnet: Devnet): Promise<number> {
  await devnet.mine()
  const { timestamp } = await askNode<{ timestamp: Hex }>(
    devnet,
    'eth_getBlockByNumber',
    'latest',
    false,
  )
  return Number(timestamp)
}

/** How many transactions an account has had mined. */
export async function minedCount(devnet: Devnet, account: Hex): Promise<number> {
  return Number(await askNode(devnet, 'eth_getTransactionCount', account, 'latest'))
}
