import { describe, expect, it } from '@jest/globals'
import {
  fromEnvironment,
  resolveFromAnywhere,
} from '../../../src/gateway/config/read/from-environment.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { merchantReader } from '../../../src/gateway/config/resolve/projects.js'
import { resolveOptions } from '../../../src/gateway/config/resolve/resolve-options.js'
import { addressOfKey } from '../../../src/shared/crypto/address-of-key.js'
import { issuesOf } from '../../support/issues.js'

const KEY = `0x${'7e'.repeat(32)}` as const
const RELAYER = `0x${'5e'.repeat(32)}` as const
const PAY_TO = '0x000000000000000000000000000000000000bEEF'
const receipts = { privateKey: KEY }
const options = (changes: GatewayOptions = {}): GatewayOptions => ({
  networks: { base: { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [RELAYER] } },
  projects: [{ id: 'shop', merchant: { payTo: PAY_TO } }],
  receipts,
  ...changes,
})
const wrong = (changes: GatewayOptions = {}) => issuesOf(() => resolveOptions(options(changes)))

describe('receipts', () => {
  it('takes a key of its own, with 0x or as wallets export it', () => {
    expect(wrong()).toEqual([])
    expect(wrong({ receipts: { privateKey: KEY.slice(2) } })).toEqual([])
  })

  it.each([
    ['receipts.privateKey', 'duplicate_key', { receipts: { privateKey: RELAYER } }],
    ['receipts.privateKey', 'duplicate_key', { receipts: { privateKey: `0x${'5E'.repeat(32)}` } }],
    ['receipts.privateKey', 'invalid_key', { receipts: { privateKey: addressOfKey(KEY) } }],
    ['receipts.privateKey', 'missing_option', { receipts: { privateKey: '' } }],
    ['receipts.key', 'unknown_option', { receipts: { ...receipts, key: KEY } }],
    [
      'projects.0.merchant.payTo',
      'conflicting_options',
      { projects: [{ id: 'shop', merchant: { payTo: addressOfKey(KEY).toLowerCase() } }] },
    ],
  ])('refuses %s: %s', (option, code, changes) => {
    const issues = wrong(changes)
    expect(issues).toMatchObject([{ option, code }])
    expect(JSON.stringify(issues)).not.toMatch(/(7e|5e){32}/i)
  })

  it('is no account of a merchant that is created later', () => {
    const resolved = resolveOptions(options())
    const read = merchantReader(resolved.networks, resolved)
    expect(read({ payTo: PAY_TO }, 'later')).toMatchObject({ ok: true })
    expect(read({ payTo: addressOfKey(KEY) }, 'later')).toMatchObject({
      ok: false,
      errors: [{ path: 'payTo' }],
    })
  })

  it('comes from the environment, and its mistakes have the names of variables', () => {
    const env = {
      X402_PAY_TO: PAY_TO,
      X402_NETWORK: 'base',
      X402_RPC_URL: 'http://127.0.0.1:9',
      X402_RELAYER_KEY: RELAYER,
      X402_RECEIPT_KEY: KEY,
    }
    const issues = (changes: object) =>
      issuesOf(() => resolveFromAnywhere(fromEnvironment({ ...env, ...changes })))
    expect(fromEnvironment(env).receipts).toEqual(receipts)
    expect(issues({ X402_RECEIPT_KEY: RELAYER })).toMatchObject([{ option: 'X402_RECEIPT_KEY' }])
    expect(issues({ X402_PAY_TO: addressOfKey(KEY) })).toMatchObject([{ option: 'X402_PAY_TO' }])
  })
})
