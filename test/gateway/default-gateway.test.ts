import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import request from 'supertest'
import { defaultGateway, gatewayRouter, x402Protect } from '../../src/index.js'
import { recordLog } from '../api/api.js'
import { issuesOf } from '../support/issues.js'

const COMPLETE = {
  X402_PAY_TO: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  X402_NETWORK: 'base-sepolia',
  X402_RPC_URL: 'http://127.0.0.1:9/',
  X402_RELAYER_KEY: `0x${'01'.repeat(32)}`,
}

const before = { ...process.env }
beforeEach(() => {
  Object.assign(process.env, COMPLETE)
})
afterEach(async () => {
  Object.assign(process.env, COMPLETE)
  await defaultGateway().close()
  for (const name of Object.keys(COMPLETE)) delete process.env[name]
  Object.assign(process.env, before)
})

describe('the default gateway', () => {
  it('is the gateway of the routes and of the router', async () => {
    const gateway = defaultGateway()
    const app = express()
    app.get('/weather', x402Protect('$0.01'))
    app.use(gatewayRouter(), gateway.healthRouter())
    await request(app).get('/weather').expect(402)
    await request(app).get('/api/v2/payment/supported').expect(401)
    await request(app).get('/livez').expect(200)
    expect(defaultGateway()).toBe(gateway)
    expect(defaultGateway({})).toBe(gateway)
  })

  it('takes options beside those of the environment', async () => {
    const logger = recordLog()
    const { healthRouter } = defaultGateway({ logger, publicUrl: 'https://shop.example' })
    const app = express().get('/weather', x402Protect('$20')).use(healthRouter())
    const { body } = await request(app).get('/weather').expect(402)
    expect(body).toMatchObject({ resource: { url: 'https://shop.example/weather' } })
    expect(logger.lines).toEqual([expect.stringContaining('$1')])
  })

  it('does not take options that come too late', () => {
    x402Protect('$0.01')
    expect(issuesOf(() => defaultGateway({ logger: console }))).toEqual([
      expect.objectContaining({ option: 'defaultGateway', code: 'conflicting_options' }),
    ])
  })

  it('takes an option that is undefined for one that is not given', () => {
    x402Protect('$0.01')
    expect(() => defaultGateway({ logger: undefined! })).not.toThrow()
  })

  it('is created anew after it was closed, and its earlier routes take no payments', async () => {
    const first = defaultGateway()
    await first.close()
    process.env['X402_PAY_TO'] = '0x209693bc6afc0c5328ba36faf03c514ef312287c'
    const second = defaultGateway({ logger: recordLog() })
    expect(second).not.toBe(first)
    const app = express().get('/weather', x402Protect('$0.01'))
    const { body } = await request(app).get('/weather').expect(402)
    const [offer] = (body as { accepts: { payTo: string }[] }).accepts
    expect(offer?.payTo.toLowerCase()).toBe(process.env['X402_PAY_TO'])
  })

  it('stays the default when the one before it is closed again', async () => {
    const first = defaultGateway()
    await first.close()
    const second = defaultGateway()
    await first.close()
    expect(defaultGateway()).toBe(second)
  })

  it('is refused at a declaration and names every wrong variable, until all are right', () => {
    delete process.env['X402_PAY_TO']
    process.env['X402_NETWORK'] = 'base-seplia'
    for (const declare of [() => x402Protect('$0.01'), gatewayRouter, defaultGateway])
      expect(issuesOf(declare)).toMatchObject([
        { option: 'X402_NETWORK', code: 'unknown_network' },
        { option: 'X402_PAY_TO', code: 'missing_option' },
      ])
    Object.assign(process.env, COMPLETE)
    expect(() => defaultGateway({ logger: recordLog() })).not.toThrow()
    delete process.env['X402_PAY_TO']
    expect(x402Protect('$0.01')).toBeInstanceOf(Function)
    expect(gatewayRouter()).toBeInstanceOf(Function)
  })
})
