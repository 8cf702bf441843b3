/** Every case, in the order in which it is asked. */
import type { Express } from 'express'
import { httpFacilitator, type Gateway, type GatewayOptions } from '../../../src/index.js'
import { askDocuments, askEndpoints, askProblems } from './api-cases.js'
import { askFailed, askLimited, askPending, askStranded } from './failing-cases.js'
import { askPaid } from './paid-cases.js'
import { askExpired, askRefused } from './refused-cases.js'
import { Gate, paidRoutes } from './routes.js'
import { askUnpaid } from './unpaid-cases.js'
import type { RecordedShop, RecordedWorld } from './world.js'

/** Relayers of the devnet, and one that has no gas money. */
const [MAIN, LIMITED, HASTY, POOR] = [0, 1, 2, 3]

/** Asks everything. */
export async function recordAnswers(world: RecordedWorld): Promise<void> {
  await world.begin()
  const gate = new Gate()
  const main = await world.open(
    MAIN,
    {
      publicUrl: 'https://shop.example',
      projects: [
        world.project('shop'),
        { id: 'empty', tokens: ['x402_recorded-token-without-merchant'] },
        world.project('other'),
      ],
    },
    paidRoutes(gate),
  )
  await askUnpaid(world, main)
  await askRefused(world, main)
  await askPaid(world, main, gate)
  await askEndpoints(world, main)
  await askProblems(world, main)
  await askDocuments(world, main, 'published')
  await askExpired(world, main)
  await askFailing(world)
}

async function askFailing(world: RecordedWorld): Promise<void> {
  const open = (relayer: number, options: GatewayOptions): Promise<RecordedShop> =>
    world.open(relayer, options, paidRoutes(new Gate()))

  const mounted = await world.open(LIMITED, { networkNames: 'short' }, mountedRoutes)
  await askDocuments(world, mounted, 'mounted')
  const limited = await world.open(LIMITED, limitedOptions(world), mountedRoutes)
  await askLimited(world, limited)
  const gate = new Gate()
  const hasty = await world.open(HASTY, { settleTimeoutMs: 5000 }, paidRoutes(gate))
  await askPending(world, hasty, gate)
  await askFailed(world, await open(HASTY, {}))
  const relayerKeys = [world.devnet.relayerKeys[LIMITED]!]
  const unreachable = { 'base-sepolia': { rpcUrl: 'http://127.0.0.1:2', relayerKeys } }
  await askStranded(world, await open(LIMITED, { networks: unreachable }), 'no node')
  await askStranded(world, await open(POOR, {}), 'no gas money')
  const { rpcUrl } = world.devnet
  const thrifty = { 'base-sepolia': { rpcUrl, relayerKeys, maxFeePerGasGwei: 0.000001 } }
  await askStranded(world, await open(LIMITED, { networks: thrifty }), 'gas is dear')
  const remote = {
    networks: { 'base-sepolia': {} },
    facilitator: httpFacilitator({ url: 'http://127.0.0.1:2', token: 'x402_recorded-token' }),
  }
  await askStranded(world, await open(LIMITED, remote), 'no facilitator')
}

function limitedOptions(world: RecordedWorld): GatewayOptions {
  return {
    networkNames: 'short',
    rateLimit: { windowMs: 600_000, limit: 3 },
    paymentRateLimit: { windowMs: 600_000, limit: 2 },
    networks: {
      'base-sepolia': {
        rpcUrl: world.devnet.rpcUrl,
        relayerKeys: [world.devnet.relayerKeys[LIMITED]!],
        acceptContractPayers: false,
      },
    },
  }
}

function mountedRoutes(app: Express, gateway: Gateway): void {
  app.use('/pay', gateway.gatewayRouter())
  app.get('/fixed', gateway.x402Protect('$0.01'), (_req, res) => void res.json({ fact: 42 }))
}
