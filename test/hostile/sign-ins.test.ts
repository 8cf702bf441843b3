/** Sign-ins that are forged, replayed, or made by the thousand. */
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { formatSIWEMessage } from '@x402/extensions/sign-in-with-x'
import type { RequestHandler } from 'express'
import { privateKeyToAccount } from 'viem/accounts'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import {
  ask,
  CHAIN,
  challengeOf,
  comeBack,
  errorOf,
  openSite,
  pay,
  signIn,
  signInHeader,
  type Site,
} from '../sell/sign-in/site.js'
import { closedBy, temporaryFolder, useCleanup } from '../support/cleanup.js'
import { burningWalletCode, deploy } from '../support/contracts.js'
import { shopOptions, useDevnet } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { openRemoteCore } from '../support/remote-shops.js'
import { startRpcProxy } from '../support/rpc-proxy.js'
import { newNonce, type TestPayer } from '../support/sign-payment.js'
import { Database } from '../support/sqlite.js'
import { counterfactualAccount } from '../tools/devnet/smart-account.js'

const HOUR = 3_600_000
const devnet = useDevnet()
const toEnd = useCleanup()
let ahead = 0
afterEach(() => {
  ahead = 0
})
let payer: TestPayer
beforeEach(async () => {
  payer = await newPayer(devnet)
})

const sell: RequestHandler = (req, res) => void res.json(req.x402?.signedIn ?? {})

async function open(...options: readonly GatewayOptions[]): Promise<Site> {
  const now = () => Date.now() + ahead
  const site = await openSite(
    devnet,
    (app, { x402Protect }) => {
      const windowed = x402Protect('$0.01', { access: '1h' })
      app.get('/news', windowed, sell)
      app.post('/news', windowed, sell)
      app.get('/other', x402Protect('$0.01', { access: '1h' }), sell)
      app.get('/members', x402Protect(0, { signIn: true }), sell)
    },
    options.length > 0 ? options : [{ now, ledger: createMemoryLedger({ now }) }],
  )
  return closedBy(toEnd, site)
}

describe('a sign-in that was made for something else', () => {
  it.each([
    ['another origin', { domain: 'evil.example' }, 'invalid_siwx_domain_mismatch'],
    ['another chain', { chainId: 'eip155:8453' }, 'invalid_siwx_unsupported_chain'],
    ['a nonce of its own', { nonce: 'a'.repeat(32) }, 'invalid_siwx_nonce'],
    ['a time of its own', { issuedAt: new Date().toISOString() }, 'invalid_siwx_nonce'],
  ])('lets nobody in: %s', async (_name, changes, reason) => {
    const site = await open()
    const url = `${site.url}/news`
    await pay(url, payer)
    const { info } = challengeOf(await ask(url))
    const type = 'eip191' as const
    const signed = { ...info, chainId: CHAIN, type, address: payer.address, ...changes }
    const message = formatSIWEMessage(signed, payer.address)
    const signature = await privateKeyToAccount(payer.privateKey).signMessage({ message })
    expect(errorOf(await ask(url, signInHeader({ ...signed, signature })))).toBe(reason)
    expect((await comeBack(url, payer)).status).toBe(200)
  })

  it('lets nobody in as another account, or on another chain than was signed', async () => {
    const site = await open()
    const url = `${site.url}/news`
    await pay(url, payer)
    const own = await signIn(url, await newPayer(devnet))
    const asPayer = signInHeader({ ...own, address: payer.address })
    expect(errorOf(await ask(url, asPayer))).toBe('invalid_siwx_signature')
    const elsewhere = await signIn(url, payer, { chainId: 'eip155:1' })
    const here = signInHeader({ ...elsewhere, chainId: CHAIN })
    expect(errorOf(await ask(url, here))).toBe('invalid_siwx_signature')
  })

  it('is good for one method, and for one URL of the site', async () => {
    const site = await open()
    const url = `${site.url}/news`
    await pay(url, payer)
    const forGet = signInHeader(await signIn(url, payer))
    expect(errorOf(await ask(url, forGet, { method: 'POST' }))).toBe('invalid_siwx_nonce')
    const forOther = signInHeader(await signIn(`${site.url}/other`, payer))
    expect(errorOf(await ask(url, forOther))).toBe('invalid_siwx_uri_mismatch')
  })

  it.each(['', 'a b', 'e30=', Buffer.from('{"domain":1}').toString('base64')])(
    'is told what cannot be read: "%s"',
    async (header) => {
      const site = await open()
      const response = await ask(`${site.url}/members`, { 'SIGN-IN-WITH-X': header })
      expect(errorOf(response)).toBe('invalid_siwx_malformed_signature')
    },
  )
})

describe('a sign-in that is replayed', () => {
  it('after it was made before the payment', async () => {
    const url = `${(await open()).url}/news`
    const early = signInHeader(await signIn(url, payer))
    expect(errorOf(await ask(url, early))).toBe('Payment required')
    await pay(url, payer)
    expect(errorOf(await ask(url, early))).toBe('invalid_siwx_nonce')
  })

  it('a hundred times at once, is good once', async () => {
    const url = `${(await open()).url}/news`
    await pay(url, payer)
    const signed = signInHeader(await signIn(url, payer))
    const answers = await Promise.all(Array.from({ length: 100 }, () => ask(url, signed)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter((one) => errorOf(one) === 'invalid_siwx_nonce')).toHaveLength(99)
  })

  it('after five minutes, and after the access', async () => {
    const url = `${(await open()).url}/news`
    await pay(url, payer)
    const signed = signInHeader(await signIn(url, payer))
    ahead = 301_000
    expect(errorOf(await ask(url, signed))).toBe('invalid_siwx_issued_at_too_old')
    ahead = HOUR - 60_000
    const late = signInHeader(await signIn(url, payer))
    ahead = HOUR + 1000
    expect(errorOf(await ask(url, late))).toBe('Payment required')
  })
})

describe('a contract account that approves everything', () => {
  it('signs in as itself alone, with the access that it has paid for', async () => {
    const url = `${(await open()).url}/news`
    await pay(url, payer)
    const { privateKey } = payer
    const wallet = await deploy(devnet, burningWalletCode(1))
    await devnet.mint(wallet, 1_000_000n)
    expect(
      (await ask(url, signInHeader(await signIn(url, { address: wallet, privateKey })))).status,
    ).toBe(402)
    const anybodys = await signIn(url, { address: wallet, privateKey: newNonce() })
    const asPayer = signInHeader({ ...anybodys, address: payer.address })
    expect(errorOf(await ask(url, asPayer))).toBe('invalid_siwx_signature')
    expect((await pay(url, { address: wallet, privateKey })).status).toBe(200)
    const response = await ask(
      url,
      signInHeader(await signIn(url, { address: wallet, privateKey: newNonce() })),
    )
    expect(await response.json()).toMatchObject({ chainId: CHAIN, isContract: true })
  })

  it('is deployed for the question by a factory that is allowed, and by no other', async () => {
    const account = await counterfactualAccount(devnet)
    const { 'base-sepolia': network } = shopOptions(devnet).networks!
    const allowing = { ...network, allowedFactories: [account.factory] }
    for (const [allowed, status] of [
      [network!, 402],
      [allowing, 200],
    ] as const) {
      const site = await open({ networks: { 'base-sepolia': allowed } })
      const url = `${site.url}/members`
      const signed = await signIn(url, { ...account.owner, address: account.address })
      const signature = account.wrap(signed.signature as Hex)
      expect((await ask(url, signInHeader({ ...signed, signature }))).status).toBe(status)
    }
  })

  it('is refused where no node is known, and asked to come back where the node is away', async () => {
    const remote = await openRemoteCore(devnet, toEnd)
    const elsewhere = { networks: { 'base-sepolia': {} }, facilitator: remote.facilitator() }
    const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
    const { 'base-sepolia': network } = shopOptions(devnet).networks!
    const away = { networks: { 'base-sepolia': { ...network, rpcUrl: proxy.url } } }
    proxy.fault = () => ({ kind: 'drop_request' })
    const wallet = await deploy(devnet, burningWalletCode(1))
    for (const [options, status] of [
      [elsewhere, 402],
      [away, 503],
    ] as const) {
      const url = `${(await open(options)).url}/members`
      expect((await comeBack(url, payer)).status).toBe(200)
      const signed = signInHeader(await signIn(url, { address: wallet, privateKey: newNonce() }))
      const response = await ask(url, signed)
      expect(response.status).toBe(status)
      if (status === 402) expect(errorOf(response)).toBe('invalid_siwx_verifier_error')
    }
  })
})

describe('ten thousand sign-ins that never complete', () => {
  it('cost few questions to the node, and no rows', async () => {
    const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
    const { 'base-sepolia': network } = shopOptions(devnet).networks!
    const file = join(temporaryFolder(toEnd), 'ledger.db')
    const site = await open({
      networks: { 'base-sepolia': { ...network, rpcUrl: proxy.url } },
      ledger: openSqliteLedger(file),
    })
    const url = `${site.url}/news`
    const { info } = challengeOf(await ask(url))
    const asked = proxy.methods.length
    const statuses = new Map<number, number>()
    const begun = performance.now()
    for (let sent = 0; sent < 10_000; sent += 100)
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          const address: Hex = `0x${newNonce().slice(2, 42)}`
          const signature = `${newNonce()}${newNonce().slice(2)}1b`
          const one = { ...info, chainId: CHAIN, type: 'eip191' as const, address, signature }
          const { status } = await ask(url, signInHeader(one))
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }),
      )
    const minutes = Math.ceil((performance.now() - begun) / 60_000)
    expect([...statuses.keys()].toSorted((a, b) => a - b)).toEqual([402, 429])
    const answered = statuses.get(402)!
    expect(answered).toBeGreaterThanOrEqual(120)
    expect(answered).toBeLessThanOrEqual(120 * (minutes + 1))
    const questions = proxy.methods.slice(asked).filter((method) => method === 'eth_call')
    expect(questions.length).toBeLessThan(2 * answered + 10)
    const database = new Database(file)
    const rows = database.prepare('SELECT count(*) AS count FROM x402_sign_ins').get()
    expect(rows).toMatchObject({ count: 0 })
    database.close()
    // Who signs with a key needs no node.
    expect(errorOf(await comeBack(url, payer))).toBe('Payment required')
  })
})

describe('sign-ins with throwaway keys', () => {
  it('are limited as payments are', async () => {
    const url = `${(await open({ paymentRateLimit: { limit: 3 } })).url}/members`
    const statuses: number[] = []
    for (let tries = 0; tries < 5; tries += 1) statuses.push((await comeBack(url, payer)).status)
    expect(statuses).toEqual([200, 200, 200, 429, 429])
  })
})

describe('access where a facilitator elsewhere settles', () => {
  it('is bought and used as everywhere', async () => {
    const remote = await openRemoteCore(devnet, toEnd)
    const elsewhere = { networks: { 'base-sepolia': {} }, facilitator: remote.facilitator() }
    const url = `${(await open(elsewhere)).url}/news`
    expect((await pay(url, payer)).status).toBe(200)
    expect((await comeBack(url, payer)).status).toBe(200)
  })
})
