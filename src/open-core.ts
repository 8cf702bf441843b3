import { RpcChain } from './chain/chain.js'
import type { ResolvedNetwork } from './config/networks.js'
import type { ResolvedOptions } from './config/resolve.js'
import type { ReservingFacilitator } from './facilitator/facilitator.js'
import { createSchemeFacilitator } from './facilitator/scheme-facilitator.js'
import { createRemoteFacilitator } from './facilitator/remote-facilitator.js'
import type { Counters } from './ledger/counters.js'
import type { LedgerStore } from './ledger/index.js'
import type { Asset } from './money/assets.js'
import { EXACT } from './protocol/payment.js'
import { RelayerPool } from './relayer/pool.js'
import { DEFAULT_REFUSED_MS } from './relayer/relayers.js'
import type { EventBus } from './schemes/events.js'
import { CodeGas } from './schemes/exact-evm/network/code-gas.js'
import { ExactEvm } from './schemes/exact-evm/exact-evm.js'
import { exactFormat } from './schemes/exact-evm/format.js'
import {
  createSettlementNetwork,
  settlementAssets,
  type SettlementNetwork,
} from './schemes/exact-evm/network/settlement-network.js'
import type { Scheme } from './schemes/scheme.js'
import { latencyWatcher } from './telemetry/latency.js'
import type { Telemetry } from './telemetry/telemetry.js'
import { RelayerAlerts } from './webhooks/relayer-alerts.js'
import { watchScheme } from './telemetry/watch-payments.js'

/** Dependencies of the core, apart from options. */
export interface CoreParts {
  readonly ledger: LedgerStore
  readonly events: EventBus
  readonly counters: Counters
  readonly closed: AbortSignal
  readonly telemetry: Telemetry
}

/** What verifies and settles, and the networks that this process does it on. */
export interface Core {
  readonly facilitator: ReservingFacilitator
  readonly cores: readonly SettlementNetwork[]
}

/** Wires the core of a gateway: schemes, relayers and chains, or a facilitator elsewhere. */
export function openCore(resolved: ResolvedOptions, parts: CoreParts): Core {
  const { facilitator, logger } = resolved
  const { metrics } = parts.telemetry
  const watchers = [latencyWatcher(parts.counters), ...parts.telemetry.watchers]
  if (facilitator !== undefined) {
    const formats = new Map([[EXACT, exactFormat]])
    const watch = (scheme: Scheme) => watchScheme(scheme, watchers)
    const remote = { ...parts, logger, facilitator, formats, watch }
    return { facilitator: createRemoteFacilitator(remote), cores: [] }
  }
  const cores = resolved.networks.flatMap((network) => openNetwork(network, resolved, parts))
  const networks = new Map(cores.map((core) => [core.chain.network.caip2 as string, core]))
  const exact = new ExactEvm({ ...resolved, ...parts, networks })
  metrics?.watchRelayers(cores)
  const schemes = new Map([[EXACT, watchScheme(exact, watchers)]])
  return { facilitator: createSchemeFacilitator({ schemes, events: parts.events }), cores }
}

/** The tokens that this process settles itself. */
export function settledAssetsOf({ networks, facilitator }: ResolvedOptions): readonly Asset[] {
  if (facilitator !== undefined) return []
  return networks.flatMap(({ core, assets }) => (core?.relayerKeys.length ? assets : []))
}

function openNetwork(
  { network, assets, core }: ResolvedNetwork,
  { logger, now, settleTimeoutMs }: Pick<ResolvedOptions, 'logger' | 'now' | 'settleTimeoutMs'>,
  { ledger, events, counters, telemetry, closed }: CoreParts,
): readonly SettlementNetwork[] {
  const [firstKey, ...otherKeys] = core?.relayerKeys ?? []
  if (core === undefined || firstKey === undefined) return []
  const { rpcUrl, maxFeePerGas, stuckMs, acceptContractPayers } = core
  const onRequest = telemetry.metrics?.onRequest(network.caip2)
  const alerts = new RelayerAlerts(ledger.webhooks.relayerAlerts)
  const chain = new RpcChain({ network, rpcUrl, onRequest })
  const relayers = new RelayerPool({
    chain,
    ledger,
    logger,
    closed,
    maxFeePerGas,
    stuckMs,
    privateKeys: [firstKey, ...otherKeys],
    // A settlement that waits is written down before its own time is over.
    refusedMs: Math.min(DEFAULT_REFUSED_MS, settleTimeoutMs / 3),
    onSpent: ({ relayer, wei }) => counters.spend({ chainId: network.chainId, relayer }, wei),
    onFunds(read) {
      const { relayer, balance, becameLow } = read
      if (becameLow) events.emit('relayerLow', { network: network.caip2, relayer, balance })
      alerts.noteFunds(network, read)
    },
  })
  return [
    createSettlementNetwork({
      chain,
      relayers,
      assets: settlementAssets(assets),
      acceptContractPayers,
      codeGas: new CodeGas({ chainId: network.chainId, counters, store: ledger.counts, now }),
      onLoss: (loss) => events.emit('relayerLoss', { network: network.caip2, ...loss }),
    }),
  ]
}
