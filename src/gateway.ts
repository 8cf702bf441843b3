import { RpcChain } from './chain/rpc-chain.js'
import { announceRemote } from './facilitator/announce-remote.js'
import {
  createEventBus,
  type EventBus,
  type GatewayEvents,
  type GatewayListener,
} from './schemes/events.js'
import { ExactEvm } from './schemes/exact-evm/exact-evm.js'
import {
  createSettlementNetwork,
  settlementAssets,
  type SettlementNetwork,
} from './schemes/exact-evm/settlement-network.js'
import type { Facilitator, ReservingFacilitator } from './facilitator/facilitator.js'
import { createLocalFacilitator } from './facilitator/local-facilitator.js'
import { RelayerPool } from './relayer/pool.js'
import { createRemoteReservations } from './facilitator/remote-reservations.js'
import type { LedgerStore } from './ledger/ledger.js'
import { createMemoryLedger } from './ledger/memory-ledger.js'
import type { Logger } from './logger.js'
import type { GatewayOptions } from './config/options.js'
import type { ResolvedNetwork } from './config/networks.js'
import { resolveOptions, type ResolvedOptions } from './config/resolve.js'
import { EXACT } from './protocol/payment.js'
import { createQuoteSigner } from './merchants/signed-quote.js'
import { createX402Protect, type X402Protect } from './protect/x402-protect.js'
import { quoteSecret } from './merchants/quote-secret.js'
import { createGatewayRouter } from './router/gateway-router.js'
import type { UcpHandler } from './ucp/business-profile.js'
import { warnOfCluster } from './config/cluster-warning.js'
import type { Router } from 'express'

/**
 * A gateway: its middleware, its API and its core, on one ledger.
 *
 * @example
 * ```ts
 * import type { Gateway } from 'express-x402-gateway'
 *
 * function countSettlements(gateway: Gateway): () => void {
 *   let count = 0
 *   return gateway.on('settled', ({ transaction }) => {
 *     count += 1
 *     console.info(`${count}: ${transaction}`)
 *   })
 * }
 * ```
 */
export interface Gateway {
  /** Declares that a route costs money. */
  readonly x402Protect: X402Protect
  /**
   * Creates the API of the payment gateway.
   *
   * @returns An Express router, mountable under any prefix.
   */
  gatewayRouter(): Router
  /** Verifies and settles payments without HTTP. */
  readonly facilitator: Facilitator
  /** Its UCP payment handler; `ucpProfile` writes it into the profile of a business. */
  readonly ucpHandler: UcpHandler
  /**
   * Listens to what happens to payments.
   *
   * @param name - The event.
   * @param listener - Called for each event. What it throws is logged.
   * @returns A function that removes the listener.
   */
  on<Name extends keyof GatewayEvents>(name: Name, listener: GatewayListener<Name>): () => void
  /** Ends background work and closes the ledger. Settlements under way are answered as pending. */
  close(): Promise<void>
}

/**
 * Creates a gateway.
 *
 * @param options - Checked at once; nothing is asked of nodes and databases yet.
 * @returns The middleware, the API and the core, bound to these options.
 * @throws {@link ConfigError} (`config_invalid`) with everything that is wrong in `issues`, each by
 * the path of its option.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { createGateway } from 'express-x402-gateway'
 *
 * const gateway = createGateway({
 *   networks: {
 *     base: { rpcUrl: 'https://base.example', relayerKeys: [process.env['RELAYER_KEY'] ?? ''] },
 *   },
 *   projects: [
 *     { id: 'shop', merchant: { payTo: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' } },
 *   ],
 * })
 * const app = express()
 * app.get('/report', gateway.x402Protect('$0.25'), (_req, res) => void res.json({ paid: true }))
 * app.use(gateway.gatewayRouter())
 * ```
 */
export function createGateway(options: GatewayOptions): Gateway {
  return openGateway(resolveOptions(options))
}

/** Creates a gateway from options that were resolved before. */
export function openGateway(resolved: ResolvedOptions): Gateway {
  const { logger, projects } = resolved
  const closing = new AbortController()
  const ledger = resolved.ledger ?? createMemoryLedger({ now: resolved.now })
  if (resolved.ledger === undefined) warnOfCluster(logger)
  const events = createEventBus((error) => logger.error('A listener threw.', { error }))
  const facilitator = createFacilitator(resolved, { ledger, events, closed: closing.signal })
  const merchants = new Map(
    projects.flatMap(({ id, merchant }) => (merchant ? [[id, merchant] as const] : [])),
  )
  const { idempotency } = ledger
  const quotes = createQuoteSigner(quoteSecret(resolved.quoteSecret, ledger))
  const context = { ...resolved, facilitator, merchants, ledger, idempotency, quotes }

  return {
    x402Protect: createX402Protect(context),
    gatewayRouter: () => createGatewayRouter(context),
    facilitator,
    ucpHandler: { id: resolved.handlerId, docsUrl: resolved.docsUrl ?? resolved.publicUrl },
    on: (name, listener) => events.on(name, listener),
    async close() {
      closing.abort()
      await ledger.close()
    },
  }
}

interface Parts {
  readonly ledger: LedgerStore
  readonly events: EventBus
  readonly closed: AbortSignal
}

function createFacilitator(resolved: ResolvedOptions, parts: Parts): ReservingFacilitator {
  if (resolved.facilitator !== undefined)
    return announceRemote(
      createRemoteReservations({
        ...parts,
        logger: resolved.logger,
        facilitator: resolved.facilitator,
      }),
      parts.events,
    )
  const cores = resolved.networks.flatMap((network) =>
    openNetwork(network, { ...parts, logger: resolved.logger }),
  )
  const networks = new Map(cores.map((core) => [core.chain.network.caip2 as string, core]))
  const exact = new ExactEvm({ ...resolved, ...parts, networks })
  return createLocalFacilitator({ schemes: new Map([[EXACT, exact]]), events: parts.events })
}

function openNetwork(
  { network, assets, core }: ResolvedNetwork,
  { ledger, events, logger, closed }: Parts & { readonly logger: Logger },
): readonly SettlementNetwork[] {
  const [firstKey, ...otherKeys] = core?.relayerKeys ?? []
  if (core === undefined || firstKey === undefined) return []
  const { rpcUrl, maxFeePerGas, stuckMs, acceptContractPayers } = core
  const chain = new RpcChain({ network, rpcUrl })
  const relayers = new RelayerPool({
    ...{ chain, ledger, logger, closed, maxFeePerGas, stuckMs },
    privateKeys: [firstKey, ...otherKeys],
    onLow: (low) => events.emit('relayerLow', { network: network.caip2, ...low }),
  })
  return [
    createSettlementNetwork({
      ...{ chain, relayers, assets: settlementAssets(assets), acceptContractPayers },
      onLoss: (loss) => events.emit('relayerLoss', { network: network.caip2, ...loss }),
    }),
  ]
}
