/** Gateways whose surroundings fail, or that limit their callers. */
import { operate } from '../../support/on-chain.js'
import { askNode } from '../../support/core.js'
import type { Gate } from './routes.js'
import { encode, named, type RecordedShop, type RecordedWorld } from './world.js'
import { stopMining, resumeMining, untilSent } from '../../support/mining.js'

const SETTLE = '/api/v2/payment/settle'
const VERIFY = '/api/v2/payment/verify'

/** A gateway that lets few requests pass, mounted under `/pay`, with short names of networks. */
export async function askLimited(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  const path = '/pay/api/v2/payment/supported'
  for (const count of ['first', 'second', 'third', 'fourth'])
    await world.api(`limited: the ${count} request of a project`, shop, { path })
  for (const count of ['first', 'second', 'third', 'fourth'])
    await world.ask(`limited: the ${count} request without a token`, shop, { path })
  await world.ask('limited: 402 with the short name of the network', shop, { path: '/fixed' })
  await world.ask('limited: 402 behind a proxy', shop, {
    path: '/fixed',
    headers: { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'public.example' },
  })
  for (const count of ['first', 'second', 'third'])
    await world.buy(`limited: the ${count} payment of a payer`, shop, {
      path: '/fixed',
      ask: { headers: { 'X-Forwarded-For': `203.0.113.${count.length}` } },
    })
  const payer = world.devnet.payers[8]!
  await askNode(world.devnet, 'anvil_setCode', payer.address, '0x00')
  await world.buy('limited: a payer with code where none is taken', shop, {
    path: '/fixed',
    payer,
    ask: { headers: { 'X-Forwarded-For': '203.0.113.9' } },
  })
  await askNode(world.devnet, 'anvil_setCode', payer.address, '0x')
}

/** A gateway whose node cannot be reached, or whose relayer has no gas money. */
export async function askStranded(
  world: RecordedWorld,
  shop: RecordedShop,
  name: string,
): Promise<void> {
  for (const path of [VERIFY, SETTLE])
    await world.api(`${name}: ${path}`, shop, { path, body: await world.submission() })
  for (const path of ['/fixed', '/upfront']) await world.buy(`${name}: ${path}`, shop, { path })
}

/** A gateway that waits only briefly for a transaction that nobody mines. */
export async function askPending(
  world: RecordedWorld,
  shop: RecordedShop,
  gate: Gate,
): Promise<void> {
  const { devnet } = world
  const routes = ['/fixed', '/upfront']
  await world.buy('hasty: paid while blocks are mined', shop, { path: '/fixed' })
  await askBusy(world, shop, gate)
  await stopMining(devnet)
  const body = await world.submission()
  await world.api('hasty: settle that is pending', shop, { path: SETTLE, body })
  const payments = []
  for (const path of routes)
    payments.push({
      path,
      payment: await world.buy(`hasty: ${path} that is pending`, shop, { path }),
    })
  const payload = named('recorded-id-of-pending')
  const identified = await world.sign(shop, '/fixed', { payload })
  await world.present('hasty: pending, with an id', shop, { path: '/fixed', payment: identified })
  await resumeMining(devnet)
  await world.api('hasty: settle again, once it is mined', shop, { path: SETTLE, body })
  for (const { path, payment } of payments)
    await world.present(`hasty: ${path} again, once it is mined`, shop, { path, payment })
  await world.present('hasty: with an id again, once it is mined', shop, {
    path: '/fixed',
    payment: identified,
  })
}

/** A payment with an id, which comes again while its handler takes longer than anybody waits. */
async function askBusy(world: RecordedWorld, shop: RecordedShop, gate: Gate): Promise<void> {
  const path = '/slow'
  const payment = await world.sign(shop, path, { payload: named('recorded-id-of-slow') })
  const headers = { 'PAYMENT-SIGNATURE': encode(payment) }
  const first = world.askUnrecorded(shop, { path, headers })
  await gate.reached
  await world.ask('hasty: with the id of a request that takes long', shop, { path, headers })
  gate.open()
  await first
}

/** Transactions that are mined after the token was paused: they fail. */
export async function askFailed(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  const { devnet } = world
  // After two failures a payer is refused for a while.
  for (const [index, path] of [SETTLE, '/fixed', '/upfront'].entries()) {
    const payer = devnet.payers[index < 2 ? 1 : 2]!
    const isApi = path === SETTLE
    const body = await world.submission({ payer })
    const payment = isApi ? undefined : await world.sign(shop, path, { payer })
    await stopMining(devnet)
    const answered =
      payment === undefined
        ? world.api(`failed on chain: ${path}`, shop, { path, body })
        : world.ask(`failed on chain: ${path}`, shop, {
            path,
            headers: { 'PAYMENT-SIGNATURE': encode(payment) },
          })
    await untilSent(devnet)
    await operate(devnet, 'pause')
    await answered
    await resumeMining(devnet)
    await operate(devnet, 'unpause')
    if (payment !== undefined)
      await world.present(`failed on chain: ${path}, again`, shop, { path, payment })
    else await world.api(`failed on chain: ${path}, again`, shop, { path, body })
  }
  const payer = devnet.payers[1]!
  await world.api('failed on chain: a payer who has cost gas lately', shop, {
    path: SETTLE,
    body: await world.submission({ payer }),
  })
}
