/** What was offered at a low price, presented where the dear good is sold: at another process, after a restart, at a twin. */
import { expect, it } from '@jest/globals'
import type { RequestHandler } from 'express'
import { privateKeyToAddress } from 'viem/accounts'
import { minedCount } from '../support/core.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { useShopsInTurn, type Routes } from '../support/shops-in-turn.js'
import { storeMakers } from './stores.js'

const devnet = useDevnet()
const { openStore, open, leavePaid } = useShopsInTurn(devnet)
const ATTEMPTS = 3

const sell: RequestHandler = (_req, res) => void res.send('sold')
/** The app asks by a header what each process has to learn by itself. */
const byPlan =
  (cheap: string, dear: string): Routes =>
  (app, protect) => {
    const [small, big] = [protect(cheap), protect(dear)]
    app.get('/report', (req, res, next) => (req.get('x-plan') ? big : small)(req, res, next), sell)
  }
const twins: Routes = (app, protect) => {
  const shared = { resourceUrl: () => 'https://shop.example/report' }
  app.get('/report', protect('$0.01', shared), sell)
  app.get('/dear', protect('$1.00', shared), sell)
}
const dear = { headers: { 'x-plan': 'dear' } }

it.each<[string, Routes, boolean, [path: string, init?: RequestInit]]>([
  ['a signed quote at another process', byPlan('€0.01', '€1.00'), false, ['/report', dear]],
  ['a payment that is open, after a restart', byPlan('$0.01', '$1.00'), true, ['/report', dear]],
  ['a payment that is open, at a route of the same URL', twins, true, ['/dear']],
])('%s buys nothing dear', async (what, routes, isOpen, [path, init]) => {
  const sent = () => minedCount(devnet, privateKeyToAddress(devnet.relayerKeys[0]!))
  let got = 0
  let paid = 0
  const [before, earned] = [await sent(), await balanceOf(devnet, devnet.merchant.address)]
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const store = await openStore(storeMakers[1]![1])
    const shop = open(store, routes)
    const { resource: _resource, ...payment } = await shop.sign('/report')
    if (isOpen) await leavePaid(shop, '/report', payment)
    paid += isOpen ? 1 : 0
    const other = open(store, routes)
    const answer = await other.pay(path, payment, init)
    got += answer.status === 200 ? 1 : 0
  }
  const spent = (await balanceOf(devnet, devnet.merchant.address)) - earned
  const ours = (await sent()) - before - paid
  process.stdout.write(
    `${what}: ${got} of ${ATTEMPTS} answers of 1.00 for ${spent} units; ${ours} transactions of ours for nothing\n`,
  )
  expect({ got, ours }).toEqual({ got: 0, ours: 0 })
})
