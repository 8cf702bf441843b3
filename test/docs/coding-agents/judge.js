// Judges an app that was changed as instructions.md says: copied beside app.js, it runs by `node --test judge.js`.
import { startTestShop } from 'express-x402-gateway/testing'
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { app } from './app.js'

let shop
before(async () => {
  shop = await startTestShop(app)
})
after(() => shop.close())

const shout = (text) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ text }),
})

/** What a request cost (in units of USDC), whatever it was answered. */
async function costOf(request) {
  const { payer } = await shop.balances()
  await request().catch(() => undefined)
  return Math.round((payer - (await shop.balances()).payer) * 1e6)
}

void test('a quote costs one cent', async () => {
  assert.equal((await shop.fetch('/quotes/ACME')).status, 402)
  assert.equal(await costOf(() => shop.buy('/quotes/ACME')), 10_000)
})

void test('nobody pays for what does not exist', async () => {
  assert.equal(await costOf(() => shop.buy('/quotes/NONE')), 0)
  assert.equal(await costOf(() => shop.buy('/shout', shout(''))), 0)
})

void test('a text costs what it is long', async () => {
  assert.equal((await shop.fetch('/shout', shout('hello'))).status, 402)
  assert.equal(await costOf(() => shop.buy('/shout', shout('hello'))), 1000)
  assert.equal(await costOf(() => shop.buy('/shout', shout('x'.repeat(25)))), 3000)
  assert.equal(await costOf(() => shop.buy('/shout', shout('x'.repeat(600)))), 50_000)
})

void test('health is free, and programs find both routes', async () => {
  assert.equal((await shop.fetch('/health')).status, 200)
  const { paths } = await (await shop.fetch('/openapi.json')).json()
  assert.ok(paths['/quotes/{symbol}']?.get['x-payment-info'])
  assert.ok(paths['/shout']?.post['x-payment-info'])
})
