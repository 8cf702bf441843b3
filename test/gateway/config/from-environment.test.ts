import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { createGateway, fromEnvironment, type Gateway } from '../../../src/index.js'
import { recordLog } from '../../api/api.js'
import { issuesOf } from '../../support/issues.js'

const PAY_TO = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
const COMPLETE = {
  X402_PAY_TO: PAY_TO,
  X402_NETWORK: 'base-sepolia',
  X402_RPC_URL: 'http://127.0.0.1:9/',
  X402_RELAYER_KEY: `0x${'01'.repeat(32)}`,
}

const gateways: Gateway[] = []
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()))
})

/** The options and codes that a gateway is refused for; none where it is made. */
function wrong(options: GatewayOptions): string[] {
  const declare = (): unknown => gateways.push(createGateway({ logger: recordLog(), ...options }))
  return issuesOf(declare).map(({ option, code }) => `${option} ${code}`)
}

describe('options from the environment', () => {
  it('make a gateway, with other options beside them', () => {
    expect(wrong({ ...fromEnvironment(COMPLETE), publicUrl: 'https://shop.example' })).toEqual([])
  })

  it('keep no variables of other programs', () => {
    const options = fromEnvironment({ ...COMPLETE, CLOUD_SECRET: 'not for the log' })
    expect(inspect({ ...options })).toContain('X402_NETWORK')
    expect(inspect({ ...options })).not.toContain('not for the log')
  })

  it('are refused under the names of the variables, all at once', () => {
    expect(wrong(fromEnvironment({}))).toEqual([
      'X402_RPC_URL missing_option',
      'X402_RELAYER_KEY missing_option',
      'X402_NETWORK missing_option',
      'X402_PAY_TO missing_option',
      'X402_* missing_option',
    ])
  })

  it('explain how to begin if none of them is set', () => {
    const issues = issuesOf(() => createGateway(fromEnvironment({})))
    expect(issues.at(-1)?.message).toBe(
      'no X402_ variable is set. To try it with play money: `npx express-x402-gateway devnet --env devnet.env`, then `node --env-file=devnet.env app.mjs`',
    )
  })

  it('name the misspelt variable in place of the missing one', () => {
    const { X402_PAY_TO: _payTo, ...env } = COMPLETE
    const mistyped = { ...env, X402_PAYTO: PAY_TO, X402_SHOP: 'mine' }
    expect(issuesOf(() => createGateway(fromEnvironment(mistyped)))).toEqual([
      {
        option: 'X402_PAY_TO',
        code: 'missing_option',
        message:
          'is missing: the address that is paid; X402_PAYTO is set: did you mean X402_PAY_TO?',
      },
    ])
  })

  it('keep the names of variables when they are spread, beside mistakes in code', () => {
    const env = { ...COMPLETE, X402_PAY_TO: 'vitalik.eth' }
    expect(wrong({ ...fromEnvironment(env), settleTimeoutMs: -1 })).toEqual([
      'settleTimeoutMs out_of_range',
      'X402_PAY_TO invalid_address',
    ])
  })

  it('are not asked for in a test that imports its app too early', () => {
    const wordsOf = (env: Record<string, string>) => () => createGateway(fromEnvironment(env))
    expect(wordsOf({ VITEST: 'true' })).toThrow(
      'import express-x402-gateway/testing before the app',
    )
    expect(wordsOf({ VITEST: 'true' })).not.toThrow('play money')
    expect(wordsOf({})).not.toThrow('express-x402-gateway/testing')
  })

  it('are not blamed for options that replace them', () => {
    const { X402_PAY_TO: _payTo, ...env } = COMPLETE
    const shop = (payTo: string) => [{ id: 'shop', merchant: { payTo } }]
    expect(wrong({ ...fromEnvironment(env), projects: shop(PAY_TO) })).toEqual([])
    expect(wrong({ ...fromEnvironment(env), projects: shop('0x1') })).toEqual([
      'projects.0.merchant.payTo invalid_address',
    ])
  })

  it('are refused at once if the value of a variable cannot be opened', () => {
    const codesOf = (env: Record<string, string>): string[] =>
      issuesOf(() => fromEnvironment(env)).map(({ option, code }) => `${option} ${code}`)
    expect(codesOf({ X402_FACILITATOR_URL: 'pay.example' })).toEqual([
      'X402_FACILITATOR_URL invalid_url',
    ])
    expect(codesOf({ X402_DATABASE_URL: 'mysql://127.0.0.1/shop' })).toEqual([
      'X402_DATABASE_URL invalid_url',
    ])
  })

  it('log the variables that nobody reads, and the ones that were meant', () => {
    const logger = recordLog()
    const env = { ...COMPLETE, X402_PAYTO: PAY_TO, PAYTO: PAY_TO }
    expect(wrong({ ...fromEnvironment(env), logger })).toEqual([])
    expect(logger.lines).toEqual([expect.stringContaining('did you mean X402_PAY_TO?')])
  })
})
