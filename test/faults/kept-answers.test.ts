/** Answers that a process kept before it was killed: each is for the delivery that it was made for. */
import { describe, expect, it } from '@jest/globals'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { useCleanup } from '../support/cleanup.js'
import { useDevnet } from '../support/devnet.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { newNonce } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { useWorlds } from './use-worlds.js'
import type { AtUrl, World } from './world.js'

const devnet = useDevnet()
const open = useWorlds(devnet)
const toEnd = useCleanup()
const postgres = await findPostgres()

/** A payment with an id, by which its response is asked for again. */
function signNamed(world: World): Promise<PaymentPayload> {
  const info = { id: newNonce() }
  return world.sign({ payload: { extensions: { 'payment-identifier': { info } } } })
}

/** Settles with a key, by which the answer is asked for again. @returns Whether it was settled. */
async function settleByKey(
  { token, offer }: World,
  gateway: AtUrl,
  { key, payment }: { readonly key: string; readonly payment: PaymentPayload },
): Promise<boolean | undefined> {
  const response = await fetch(`${gateway.url}/api/v2/payment/settle`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-project-identify-token': token,
      'idempotency-key': key,
    },
    body: JSON.stringify({ paymentPayload: payment, paymentRequirements: offer }),
  }).catch(() => undefined)
  const answer = (await response?.json()) as { readonly success?: boolean } | undefined
  return answer?.success
}

/** Refunds the payment in full, once nobody works on it any more. */
async function refund(world: World): Promise<void> {
  const openLedger = world.ledger.startsWith('postgres') ? openPostgresLedger : openSqliteLedger
  const ledger = openLedger(world.ledger)
  try {
    const [payment] = await world.records()
    const { from, payTo, id } = payment!
    const entry = { ...payment!, from: payTo, payTo: from, nonce: newNonce(), refundOf: id }
    await until(async () => (await ledger.refunds.reserveRefund(entry)).kind === 'reserved')
    const transaction = newNonce()
    await ledger.payments.submit(entry, {
      transaction,
      relayer: payTo,
      accountNonce: 0,
      raw: '0x01',
    })
    await ledger.payments.markSettled(entry, transaction)
  } finally {
    await ledger.close()
  }
}

const ledgers = [['SQLite'], ...(postgres === undefined ? [] : [['PostgreSQL']])]

describe.each(ledgers)('an answer that a process kept before it was killed, on %s,', (name) => {
  const openWorld = async (): Promise<World> => {
    if (name === 'SQLite') return open()
    const schema = await createSchema(postgres!)
    toEnd.push(() => schema.drop())
    return open({ ledger: schema.url })
  }

  it('is dropped once another request has received the goods', async () => {
    const world = await openWorld()
    const payment = await signNamed(world)
    const dying = await world.start({ diesIn: 'before payments.markDelivered' })
    expect(await world.present(dying, payment, '/numbered?n=1')).toMatchObject({ status: 0 })
    const next = await world.start()
    expect(await world.presentUntilDecided(next, payment, '/numbered?n=2')).toMatchObject({
      delivered: true,
    })
    expect(await world.present(next, payment, '/numbered?n=1')).toMatchObject({ delivered: false })
  })

  it('is dropped once the payment is refunded', async () => {
    const world = await openWorld()
    const payment = await signNamed(world)
    const dying = await world.start({ diesIn: 'before payments.markDelivered' })
    await world.present(dying, payment, '/numbered?n=1')
    // It finds that the payment is settled.
    const gateway = await world.start()
    await refund(world)
    expect(await world.present(gateway, payment, '/numbered?n=1')).toMatchObject({
      delivered: false,
      reason: 'invalid_exact_evm_nonce_already_used',
    })
  })

  it('is dropped at settle once another key has settled the payment', async () => {
    const world = await openWorld()
    // Without a URL, it would be bound to the first key.
    const resource = { url: 'https://shop.example/thing' }
    const payment = await world.sign({ payload: { resource } })
    const dying = await world.start({ diesIn: 'before payments.markDelivered' })
    expect(await settleByKey(world, dying, { key: 'first', payment })).toBeUndefined()
    const next = await world.start()
    expect(await world.presentUntilDecided(next, payment, 'settle')).toMatchObject({
      delivered: true,
    })
    expect(await settleByKey(world, next, { key: 'first', payment })).toBe(false)
  })
})
