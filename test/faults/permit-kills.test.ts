/** Payments by Permit2, at a fixed price and up to a maximum, whose processes are killed between any two steps. */
import { afterAll, describe, expect, it } from '@jest/globals'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { newPayer } from '../support/on-chain.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { isSend } from '../support/rpc-proxy.js'
import type { TestPayer } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { useDevnet } from '../support/devnet.js'
import type { GatewayProcess, LedgerMoment } from './gateway-process.js'
import { isUncharged } from './authorization.js'
import { useWorlds } from './use-worlds.js'
import type { World } from './world.js'
import { useCleanup } from '../support/cleanup.js'

const devnet = useDevnet()
const open = useWorlds(devnet)
const postgres = await findPostgres()
const toEnd = useCleanup(afterAll)

const TEST_MS = 1_200_000

/** Token units that a handler charges: of the process that is killed, and of those after it, which may not charge more. */
const [FIRST, LATER] = [5000n, 2000n]

/** When a process is killed: around a statement of its ledger, or a request to its node. */
type Moment = LedgerMoment | 'after the send' | 'after the receipt'

const MOMENTS: readonly Moment[] = [
  ...(['after payments.reserve', 'before relayers.submitNext'] as const),
  ...(['after relayers.submitNext', 'after the send', 'after the receipt'] as const),
  ...(['before payments.markDelivered', 'after payments.markDelivered'] as const),
]
const UNCHARGED_MOMENTS: readonly Moment[] = [
  ...(['before payments.settleUncharged', 'after payments.settleUncharged'] as const),
  ...(['before payments.markDelivered', 'after payments.markDelivered'] as const),
]

/** A payment, its process and when that is killed. */
interface Kill {
  readonly kind: 'permit2' | 'sponsored' | 'by a relayer' | 'by the executor' | 'for nothing'
  readonly moment: Moment
}
const KILLS: readonly Kill[] = [
  ...MOMENTS.map((moment) => ({ kind: 'by a relayer', moment }) as const),
  ...MOMENTS.map((moment) => ({ kind: 'by the executor', moment }) as const),
  ...MOMENTS.map(
    (moment, index) => ({ kind: index % 2 ? 'sponsored' : 'permit2', moment }) as const,
  ),
  ...UNCHARGED_MOMENTS.map((moment) => ({ kind: 'for nothing', moment }) as const),
]
const REORGANISATIONS = 10

const isMetered = ({ kind }: Kill): boolean => kind !== 'permit2' && kind !== 'sponsored'
const firstCharge = ({ kind }: Kill): bigint => (kind === 'for nothing' ? 0n : FIRST)
const laterCharge = ({ kind }: Kill): bigint => (kind === 'for nothing' ? 0n : LATER)

function sign({ signPermit, facilitators }: World, { kind }: Kill, payer: TestPayer) {
  switch (kind) {
    case 'permit2':
      return signPermit()
    case 'sponsored':
      return signPermit({ payer, isSponsored: true })
    case 'by a relayer':
    case 'for nothing':
      return signPermit({ facilitator: facilitators[0] })
    case 'by the executor':
      return signPermit({ facilitator: facilitators.at(-1) })
  }
}

/** Has a gateway killed at a request to its node, of the next payment. */
function killAt({ proxy }: World, gateway: GatewayProcess, moment: Moment): void {
  const isMeant =
    moment === 'after the send' ? isSend : (method: string) => /TransactionReceipt/.test(method)
  if (moment !== 'after the send' && moment !== 'after the receipt') return
  proxy.fault = (method) =>
    isMeant(method) && gateway.alive
      ? {
          kind: 'inspect',
          see(result) {
            if (result === null || result === undefined) return 'pass'
            gateway.signal('SIGKILL')
            return 'drop'
          },
        }
      : undefined
}

async function runKills(world: World): Promise<void> {
  const newPayers = await Promise.all(KILLS.map(() => newPayer(devnet)))
  await world.approve()
  // No reorganisation is to drop that.
  await devnet.mine(3 * REORGANISATIONS)
  const payments: PaymentPayload[] = []
  for (const [index, kill] of KILLS.entries()) {
    const { moment } = kill
    const isOfLedger = !moment.startsWith('after the ')
    const gateway = await world.start({ diesIn: isOfLedger ? (moment as LedgerMoment) : undefined })
    const payment = await sign(world, kill, newPayers[index]!)
    payments.push(payment)
    killAt(world, gateway, moment)
    const visit = {
      path: isMetered(kill) ? '/metered' : '/report',
      ...(isMetered(kill) && { charge: firstCharge(kill) }),
    }
    // It may have to wait for what the dead have left.
    await until(async () => (await world.present(gateway, payment, visit)).status === 0)
    await until(() => !gateway.alive)
    world.proxy.fault = undefined
    const isReorganised = index % Math.floor(KILLS.length / REORGANISATIONS) === 1
    if (isReorganised) await world.node('anvil_reorg', 1 + (index % 3), [])
  }

  // What a transaction carries is charged, whoever comes later and says something else.
  const written = (await world.records()).filter(({ state }) => state !== 'reserved')
  const heir = await world.start()
  await Promise.all(
    KILLS.map(async (kill, index) => {
      const path = isMetered(kill) ? '/metered' : '/report'
      const visit = { path, ...(isMetered(kill) && { charge: laterCharge(kill) }) }
      await world.presentUntilDecided(heir, payments[index]!, visit)
      // Whatever it was told: it is worth nothing more.
      expect(await world.present(heir, payments[index]!, visit)).toMatchObject({ delivered: false })
    }),
  )
  await until(async () => {
    const { transfers, records } = await world.evidence()
    return transfers.length + records.filter(isUncharged).length === KILLS.length
  })
  const charged = new Map((await world.records()).map((record) => [record.id, record.charged]))
  expect(charged.size).toBe(KILLS.length)
  expect(written.map(({ id }) => charged.get(id))).toEqual(written.map((record) => record.charged))
  expect(await world.revenue()).toBe(await world.balance())
}

describe(`processes that are killed ${KILLS.length} times, while the chain is reorganised`, () => {
  const settings = {
    relayers: 2,
    network: { assets: [{ asset: 'USDC', permit2: true }], executor: true },
  } as const

  it(
    'have every payment paid once in SQLite, and charge what was written first',
    async () => {
      const world = await open(settings)
      await runKills(world)
      expect(await world.violations()).toEqual([])
    },
    TEST_MS,
  )

  it(
    'have every payment paid once in PostgreSQL, and charge what was written first',
    async () => {
      if (postgres === undefined) return
      const schema = await createSchema(postgres)
      toEnd.push(() => schema.drop())
      const world = await open({ ...settings, ledger: schema.url })
      await runKills(world)
      expect(await world.violations()).toEqual([])
    },
    TEST_MS,
  )
})
