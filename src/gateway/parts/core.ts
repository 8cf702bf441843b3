import { RpcChain } from '../../core/chain/chain.js'
import type { ResolvedNetwork } from '../config/resolve/networks.js'
import type { ResolvedOptions } from '../config/resolve/resolve-options.js'
import type { ReservingFacilitator } from '../../core/facilitator/facilitator.js'
import { createSchemeFacilitator } from '../../core/facilitator/scheme-facilitator.js'
import { FacilitatorShare } from '../../core/facilitator/facilitator-share.js'
import { reportAtStart } from '../../operate/health/report-at-start.js'
import { warnOfPayees } from '../../operate/health/check-payees.js'
import { warnOfLowRelayers } from '../../operate/health/low-relayers.js'
import type { Counters } from '../../ledger/counters.js'
import type { PermitDomains } from '../../shared/money/permit-domains.js'
import type { Network } from '../../shared/protocol/networks.js'
import type { LedgerStore } from '../../ledger/index.js'
import { RelayerPool } from '../../core/relayer/pool.js'
import { DEFAULT_REFUSED_MS } from '../../core/relayer/relayers.js'
import type { EventBus } from '../../core/schemes/events.js'
import type { SchemeFormats } from '../../core/schemes/scheme.js'
import { CodeGas } from '../../core/schemes/evm/network/code-gas.js'
import { EvmScheme, openEvmContext } from '../../core/schemes/evm/evm-scheme.js'
import { ProjectGas } from '../../core/schemes/evm/network/project-gas.js'
import { settlementAssets } from '../../core/schemes/evm/transfer/settlement-asset.js'
import {
  createSettlementNetwork,
  type SettlementNetwork,
} from '../../core/schemes/evm/network/settlement-network.js'
import { findPermits } from '../../core/schemes/evm/permit2/find-permits.js'
import type { PaymentWatcher } from '../../operate/telemetry/payment-watch.js'
import type { Telemetry } from '../../operate/telemetry/telemetry.js'
import { RelayerAlerts } from '../../operate/webhooks/relayer-alerts.js'
import { watchScheme } from '../../operate/telemetry/watch-payments.js'

export interface CoreParts {
  readonly ledger: LedgerStore
  readonly events: EventBus
  readonly counters: Counters
  readonly closed: AbortSignal
  readonly telemetry: Telemetry
  readonly recent: PaymentWatcher
  /** Aborted once the gateway starts to close. */
  readonly stopping: AbortSignal
  readonly formats: SchemeFormats
  /** Gets the tokens that take signed approvals, once their contracts have answered. */
  readonly permits: PermitDomains
  /**
   * Names the option or variable of a node's URL. With it, nodes that cannot be used and relayers that are
   * limited are logged by themselves, without a `check()`.
   */
  readonly nameUrl: ((network: Network) => string) | undefined
}

export interface Core {
  readonly facilitator: Pick<ReservingFacilitator, 'verifyPayment' | 'reserve' | 'supported'>
  readonly cores: readonly SettlementNetwork[]
}

/** Wires the core of a gateway that settles itself: schemes, relayers and chains. */
export function openCore(resolved: ResolvedOptions, parts: CoreParts): Core {
  const { logger, beforeVerify } = resolved
  const { metrics, watchers } = parts.telemetry
  warnOfLowRelayers(parts.events, logger)
  warnOfPayees(parts.events, logger)
  const cores = resolved.networks.flatMap((network) => openNetwork(network, resolved, parts))
  const networks = new Map(cores.map((core) => [core.chain.network.caip2 as string, core]))
  const shares = new Map(
    resolved.shares.map((share) => [
      share.network,
      new FacilitatorShare({ ...share, ledger: parts.ledger, logger }),
    ]),
  )
  const context = openEvmContext({ ...resolved, ...parts, networks, shares })
  metrics?.watchRelayers(cores)
  const { nameUrl, stopping } = parts
  if (nameUrl) void reportAtStart(cores, { logger, closed: stopping, nameUrl })
  const all = [parts.recent, ...watchers]
  const schemes = new Map(
    [...parts.formats].map(([name, format]) => [
      name,
      watchScheme(new EvmScheme(context, format), all),
    ]),
  )
  const { events } = parts
  return { facilitator: createSchemeFacilitator({ schemes, events, beforeVerify }), cores }
}

function openNetwork(
  { network, assets, core }: ResolvedNetwork,
  { logger, now, settleTimeoutMs, projects }: ResolvedOptions,
  { ledger, events, counters, telemetry, closed, stopping, permits }: CoreParts,
): readonly SettlementNetwork[] {
  const [firstKey, ...otherKeys] = core?.relayerKeys ?? []
  if (core === undefined || firstKey === undefined) return []
  const { rpcUrl, maxFeePerGas, stuckMs, acceptContractPayers, allowedFactories, executor } = core
  const onRequest = telemetry.metrics?.onRequest(network.caip2)
  const alerts = new RelayerAlerts(ledger.webhooks.alerts)
  const chain = new RpcChain({ network, rpcUrl, onRequest })
  void findPermits(chain, { assets, permits }, stopping)
  const relayers = new RelayerPool({
    chain,
    ledger,
    logger,
    closed,
    maxFeePerGas,
    stuckMs,
    executor,
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
      now,
      assets: settlementAssets(assets),
      payments: ledger.payments,
      projectGas: new ProjectGas({ counters, store: ledger.counts, now, projects }),
      onGas: (project, wei) => counters.spendFor(project, network.chainId, wei),
      acceptContractPayers,
      allowedFactories,
      codeGas: new CodeGas({ chainId: network.chainId, counters, store: ledger.counts, now }),
      onLoss: (loss) => events.emit('relayerLoss', { network: network.caip2, ...loss }),
    }),
  ]
}
