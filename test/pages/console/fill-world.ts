/** Gives a world something to show on each page. */
import { refund } from '../../support/refund.js'
import { until } from '../../support/until.js'
import type { View } from './browser.js'
import { ADMIN_TOKEN, CREATED, type World } from './world.js'

/** Creates a merchant, buys from it, pays back in part, and adds a webhook. @returns The pages, by name. */
export async function fillWorld(
  world: World,
  receiver = `${world.url}/nobody-listens`,
): Promise<Readonly<Record<string, View>>> {
  const { devnet } = world
  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const init = { method, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await world.api(`admin/${path}`, ADMIN_TOKEN, init)
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
    return (await response.json()) as T
  }
  const merchant = { name: 'Acme reports', payTo: devnet.merchant.address, currency: 'USD' }
  await ask('POST', 'projects', { id: CREATED, merchant })
  await ask('POST', `projects/${CREATED}/tokens`, { label: 'Shop server' })
  const { id: webhook } = await ask<{ id: string }>('POST', `projects/${CREATED}/webhooks`, {
    url: receiver,
  })
  for (const [index, payer] of devnet.payers.slice(0, 6).entries()) {
    await world.buy(`/report/${index + 1}`, payer)
    await world.buy(`/any/page-${index + 1}?reference=visit-${index + 1}`, payer)
  }
  const links = `projects/${CREATED}/checkouts`
  const link = { amount: '15.00', currency: 'USD', expiresIn: 7_776_000 }
  await ask('POST', links, { ...link, reference: 'order-7', description: 'Two books' })
  await ask('POST', links, { ...link, reference: 'order-8' })
  interface List {
    settlements: { id: string; amount: string; status: string }[]
  }
  const list = () => ask<List>('GET', `settlements?project=${CREATED}`)
  await until(async () => (await list()).settlements.every(({ status }) => status === 'settled'))
  const [payment] = (await list()).settlements
  await refund(ask, {
    path: `settlements/${payment!.id}/refunds`,
    privateKey: devnet.merchant.privateKey,
    amount: 100_000n,
    reason: 'The parcel was lost.',
  })
  return {
    overview: ['#/overview', 'Overview'],
    settlements: ['#/settlements', 'Settlements'],
    settlement: [`#/settlements/${payment!.id}`, 'Settlement'],
    refunds: ['#/refunds', 'Refunds'],
    merchants: ['#/merchants', 'Merchants'],
    merchant: [`#/merchants/${CREATED}`, CREATED],
    links: [`#/merchants/${CREATED}/links`, 'Payment links'],
    webhook: [`#/merchants/${CREATED}/webhooks/${webhook}`, 'Webhook'],
    webhooks: ['#/webhooks', 'Webhooks'],
    relayers: ['#/relayers', 'Relayers and networks'],
    audit: ['#/audit', 'Audit log'],
  }
}
