import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { app } from './app.js'

async function withServer(use) {
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await use(`http://127.0.0.1:${server.address().port}`)
  } finally {
    server.close()
  }
}

void test('it is healthy', () =>
  withServer(async (url) => {
    const response = await fetch(`${url}/health`)
    assert.deepEqual(await response.json(), { status: 'ok' })
  }))

void test('a quote has a price', () =>
  withServer(async (url) => {
    const response = await fetch(`${url}/quotes/ACME`)
    assert.deepEqual(await response.json(), { symbol: 'ACME', price: 12.5 })
  }))

void test('a text is shouted', () =>
  withServer(async (url) => {
    const response = await fetch(`${url}/shout`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'hello' }),
    })
    assert.deepEqual(await response.json(), { text: 'HELLO' })
  }))
