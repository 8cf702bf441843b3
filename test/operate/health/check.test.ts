import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import type { NetworkOptions } from '../../../src/gateway/config/options/network.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import type { Finding } from '../../../src/operate/health/finding.js'
import { httpFacilitator } from '../../../src/core/facilitator/http/http-facilitator.js'
import { PERMIT2, PERMIT2_SPENDERS } from '../../../src/shared/protocol/contracts.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { recordLog } from '../../api/api.js'
import { operate } from '../../support/on-chain.js'
import { openShop } from '../../support/shop.js'
import { startTcpProxy } from '../../faults/tcp-proxy.js'
import { shopOptions, useDevnet } from '../../support/devnet.js'
import { checked } from '../../support/checked.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'
import { useScriptedFacilitator } from '../../support/scripted-facilitator.js'

const devnet = useDevnet()
const remote = useScriptedFacilitator()
const postgres = await findPostgres()
const gateways: Gateway[] = []
let proxy: RpcProxy
beforeEach(async () => {
  proxy = await startRpcProxy(devnet.rpcUrl)
})
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()))
  await proxy.close()
})

/** A gateway on the devnet, through the proxy. */
function open(network: NetworkOptions = {}, overrides: GatewayOptions = {}): Gateway {
  const settings = { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys.slice(0, 1), ...network }
  const gateway = createGateway(
    shopOptions(devnet, { networks: { 'base-sepolia': settings }, ...overrides }),
  )
  gateways.push(gateway)
  return gateway
}

const faults = (found: readonly Finding[]): readonly Finding[] =>
  found.filter(({ status }) => status !== 'ok')

const faultsOf = async (gateway: Gateway): Promise<readonly Finding[]> =>
  faults(await checked(gateway))

const token = (overrides: object): NetworkOptions => ({
  assets: [
    {
      ...{ address: devnet.asset, symbol: 'USDC', decimals: 6, currency: 'USD' },
      eip712: { name: 'USDC', version: '2' },
      ...overrides,
    },
  ],
})

describe('gateway.check()', () => {
  it('finds nothing wrong with a sound gateway, and reports what it has seen', async () => {
    const found = await checked(open())
    expect(faults(found)).toStrictEqual([])
    expect(found.map(({ subject }) => subject)).toStrictEqual([
      ...['ledger', 'network', 'relayer', 'token', 'project'],
    ])
    const [, network, relayer] = found
    expect(network).toMatchObject({ network: 'eip155:84532', code: 'ok' })
    expect(network!.blockAgeSeconds).toBeLessThan(120)
    const address = privateKeyToAddress(devnet.relayerKeys[0]!)
    expect(relayer).toMatchObject({ address, network: 'eip155:84532' })
    expect(relayer!.settlements).toBeGreaterThan(1000)
    expect(BigInt(relayer!.balance!)).toBeGreaterThan(10n ** 20n)
    expect(relayer!.message).toMatch(/enough for about \d+ settlements/)
    expect(JSON.stringify(found)).not.toContain('secret-provider-key')
  })

  const ofMerchant = (act: 'blacklist' | 'unBlacklist') =>
    operate(devnet, act, devnet.merchant.address)
  it.each([
    ['pay_to_blacklisted', () => ofMerchant('blacklist'), () => ofMerchant('unBlacklist')],
    ['token_paused', () => operate(devnet, 'pause'), () => operate(devnet, 'unpause')],
  ] as const)(
    'finds a merchant whom nobody can pay, and logs that once: %s',
    async (code, stop, end) => {
      const toTell = recordLog()
      const shop = await openShop(
        devnet,
        (app, { x402Protect }) =>
          app.get('/', x402Protect('$0.01'), (_req, res) => void res.send()),
        { logger: toTell },
      )
      await stop()
      try {
        for (const payer of devnet.payers.slice(0, 2))
          expect((await shop.buy('/', payer)).status).toBe(402)
        expect(toTell.lines.filter((line) => line.includes(code))).toHaveLength(1)
        expect(await faultsOf(shop.gateway)).toMatchObject([
          { subject: 'project', project: 'shop', symbol: 'USDC', code, status: 'error' },
        ])
      } finally {
        await end()
        await shop.close()
      }
    },
  )

  it('finds a factory that is not there', async () => {
    const allowedFactories = [devnet.accountFactory, '0x4200000000000000000000000000000000000042']
    const found = await checked(open({ allowedFactories }))
    expect(found.filter(({ subject }) => subject === 'factory')).toMatchObject([
      { status: 'ok', address: devnet.accountFactory },
      { status: 'warning', code: 'factory_missing', address: allowedFactories[1] },
    ])
  })

  it.each([
    [false, 'warning'],
    [true, 'error'],
  ])(
    'finds a network where metered prices cannot be paid; executor: %s',
    async (executor, status) => {
      const gateway = open({ executor })
      const ofPermit2 = async (missing: string) => {
        proxy.fault = (method, params) =>
          method === 'eth_getCode' && String(params[0]).toLowerCase() === missing.toLowerCase()
            ? { kind: 'answer', result: '0x' }
            : undefined
        return (await checked(gateway)).filter(({ code }) => code === 'permit2_missing')
      }
      const network = 'eip155:84532'
      for (const contract of [PERMIT2_SPENDERS.upto, PERMIT2])
        expect(await ofPermit2(contract)).toEqual([
          {
            ...{ subject: 'network', network, status, code: 'permit2_missing' },
            message: expect.stringContaining(contract.toLowerCase()),
          },
        ])
      expect(await ofPermit2(PERMIT2_SPENDERS.exact)).toEqual([])
    },
  )

  it('finds a node that is away, and asks it nothing else', async () => {
    const gateway = open()
    await proxy.close()
    const found = await faultsOf(gateway)
    expect(found).toMatchObject([
      { subject: 'network', status: 'error', code: 'chain_unreachable', network: 'eip155:84532' },
    ])
    expect(JSON.stringify(found)).not.toMatch(/secret-provider-key|127\.0\.0\.1/)
  })

  it('finds a node that never answers, within its time', async () => {
    const gateway = open()
    proxy.fault = () => new Promise(() => undefined)
    const found = faults(await gateway.check())
    expect(found).toMatchObject([{ subject: 'network', code: 'timeout', status: 'error' }])
  })

  it('finds a node on another chain, even if it was on the right one before', async () => {
    const gateway = open()
    expect(await faultsOf(gateway)).toStrictEqual([])
    proxy.fault = (method) =>
      method === 'eth_chainId' ? { kind: 'answer', result: '0x1' } : undefined
    expect(await faultsOf(gateway)).toMatchObject([
      { subject: 'network', status: 'error', code: 'chain_mismatch' },
    ])
    proxy.fault = undefined
    expect(await faultsOf(gateway)).toStrictEqual([])
  })

  it.each([
    ['base-sepolia', '0x14a34', 'warning'],
    ['base', '0x2105', 'error'],
  ])('finds a stale block on %s: %s, %s', async (name, chainId, status) => {
    const old = Math.floor(Date.now() / 1000) - 600
    proxy.fault = (method, params) => {
      if (method === 'eth_chainId') return { kind: 'answer', result: chainId }
      if (method !== 'eth_getBlockByNumber' || params[0] !== 'latest') return undefined
      const block = { number: '0x10', timestamp: `0x${old.toString(16)}`, baseFeePerGas: '0x7' }
      return { kind: 'answer', result: block }
    }
    const settings = { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys }
    const gateway = open({}, { networks: { [name]: settings } })
    const [found] = await faultsOf(gateway)
    expect(found).toMatchObject({ subject: 'network', code: 'block_stale', status, block: 16 })
    expect(found!.blockAgeSeconds).toBeGreaterThanOrEqual(600)
  })

  it('finds a clock that is behind the chain', async () => {
    const gateway = open({}, { now: () => Date.now() - 3_600_000 })
    expect(await faultsOf(gateway)).toMatchObject([
      { subject: 'network', code: 'clock_skewed', status: 'warning' },
    ])
  })

  it('finds a relayer without gas money beside one that has some', async () => {
    const dry = generatePrivateKey()
    const gateway = open({ relayerKeys: [devnet.relayerKeys[0]!, dry] })
    const found = await faultsOf(gateway)
    expect(found).toMatchObject([
      {
        ...{ subject: 'relayer', status: 'error', code: 'relayer_without_funds' },
        ...{ address: privateKeyToAddress(dry), balance: '0', settlements: 0 },
      },
    ])
    expect(JSON.stringify(found)).not.toContain(dry.slice(2))
  })

  it('finds a relayer whose balance pays for only a few more settlements', async () => {
    const answers: Record<string, bigint> = {
      eth_getBalance: 3n * 10n ** 18n,
      eth_maxPriorityFeePerGas: 10n ** 12n,
    }
    proxy.fault = (method) => {
      const result = answers[method]
      return result === undefined
        ? undefined
        : { kind: 'answer', result: `0x${result.toString(16)}` }
    }
    const [found] = await faultsOf(open())
    expect(found).toMatchObject({ subject: 'relayer', status: 'warning', code: 'relayer_low' })
    expect(found!.settlements).toBeLessThan(50)
  })

  it('names a relayer that delegates (EIP-7702)', async () => {
    const contract = '0x63c0c19a282a1B52b07dD5a65b58948A07DAE32B'
    proxy.fault = (method) =>
      method === 'eth_getCode'
        ? { kind: 'answer', result: `0xef0100${contract.slice(2).toLowerCase()}` }
        : undefined
    const relayer = privateKeyToAddress(devnet.relayerKeys[0]!)
    const found = await faultsOf(open({ relayerKeys: [devnet.relayerKeys[0]!] }))
    expect(found).toContainEqual({
      subject: 'relayer',
      status: 'warning',
      code: 'relayer_delegated',
      network: 'eip155:84532',
      address: relayer,
      message: `Relayer ${relayer} delegates to ${contract} (EIP-7702): nodes take 1 to 4 pending transactions of it; use a plain account.`,
    })
  })

  it('finds transactions of a relayer that another program has sent', async () => {
    proxy.fault = (method, params) =>
      method === 'eth_getTransactionCount' && params[1] === 'pending'
        ? { kind: 'answer', result: '0x1000' }
        : undefined
    expect(await faultsOf(open())).toMatchObject([
      { subject: 'relayer', status: 'warning', code: 'foreign_transactions' },
    ])
  })

  it('finds a token with another EIP-712 domain, and names the contract’s own', async () => {
    const gateway = open(token({ eip712: { name: 'USD Coin', version: '2' } }))
    const [found] = await faultsOf(gateway)
    expect(found).toMatchObject({ subject: 'token', code: 'token_domain_mismatch', symbol: 'USDC' })
    expect(found!.message).toContain("Its contract says 'USDC', version '2'")
  })

  it('finds a token with other decimals', async () => {
    expect(await faultsOf(open(token({ decimals: 18 })))).toMatchObject([
      { subject: 'token', status: 'error', code: 'token_decimals_mismatch' },
    ])
  })

  it('finds a token that does not exist', async () => {
    const address = '0x00000000000000000000000000000000000a11ce'
    expect(await faultsOf(open(token({ address })))).toMatchObject([
      { subject: 'token', status: 'error', code: 'token_missing', address },
    ])
  })

  it('finds a project without a merchant', async () => {
    const gateway = open({}, { projects: [{ id: 'new', tokens: ['x402_token-of-the-new-one'] }] })
    expect(await faultsOf(gateway)).toMatchObject([
      { subject: 'project', project: 'new', status: 'warning', code: 'merchant_missing' },
    ])
  })

  it('finds a currency that no token is pegged to, and rates that are missing', async () => {
    const merchant = { payTo: devnet.merchant.address, currency: 'EUR' }
    const projects = [
      { id: 'alone', merchant },
      { id: 'crossed', merchant: { ...merchant, crossCurrency: true } },
    ]
    const found = await faultsOf(open({}, { projects, rates: { 'GBP/USD': '1.3' } }))
    expect(found).toMatchObject([
      { subject: 'project', project: 'alone', status: 'error', code: 'unsupported_currency' },
      { subject: 'rate', project: 'crossed', status: 'error', code: 'unsupported_currency' },
      { subject: 'project', project: 'crossed', code: 'unsupported_currency' },
    ])
    const known = await checked(
      open({}, { projects: [projects[1]!], rates: { 'EUR/USD': '1.08' } }),
    )
    expect(faults(known)).toStrictEqual([])
    expect(known.at(-1)?.message).toContain('One EUR is 1.08 USD')
  })

  it('repeats no word of the error of a custom rate source', async () => {
    const rates = {
      getRate: () => Promise.reject(new TypeError('https://rates.example/?key=secret')),
    }
    const merchant = { payTo: devnet.merchant.address, currency: 'EUR', crossCurrency: true }
    const found = await faultsOf(open({}, { rates, projects: [{ id: 'shop', merchant }] }))
    expect(found[0]).toMatchObject({ subject: 'rate', code: 'check_failed' })
    expect(JSON.stringify(found)).not.toContain('secret')
  })

  it('finds a remote facilitator that is away, and one that settles elsewhere', async () => {
    const facilitator = httpFacilitator({ url: remote.url })
    const gateway = open({}, { facilitator, networks: { base: {} } })
    expect(await faultsOf(gateway)).toMatchObject([
      { subject: 'facilitator', status: 'error', code: 'facilitator_unreachable' },
    ])
    const kind = { x402Version: 2, scheme: 'exact', network: 'eip155:84532' }
    remote.scripts['supported'] = { body: { kinds: [kind], extensions: [], signers: {} } }
    expect(await faultsOf(gateway)).toMatchObject([
      { subject: 'facilitator', code: 'network_unsupported', network: 'eip155:8453' },
    ])
    const own = { kinds: [{ ...kind, network: 'eip155:8453' }], extensions: [], signers: {} }
    remote.scripts['supported'] = { body: own }
    expect(await faultsOf(gateway)).toStrictEqual([])
  })
})

const describePostgres = postgres === undefined ? describe.skip : describe

describePostgres('gateway.check() on PostgreSQL', () => {
  it('finds a database that has gone away, and that it is back', async () => {
    const schema = await createSchema(postgres!)
    const url = new URL(schema.url)
    const tcp = await startTcpProxy({ host: url.hostname, port: Number(url.port || 5432) })
    url.port = String(tcp.port)
    const gateway = open({}, { ledger: openPostgresLedger(url.href) })
    try {
      expect(await faultsOf(gateway)).toStrictEqual([])
      tcp.isDown = true
      const found = faults(await gateway.check())
      expect(found.map(({ subject, status }) => [subject, status])).toContainEqual([
        'ledger',
        'error',
      ])
      tcp.isDown = false
      expect(await faultsOf(gateway)).toStrictEqual([])
      expect(await schema.execute('SELECT * FROM x402_idempotency')).toStrictEqual([])
    } finally {
      tcp.isDown = false
      await gateways.pop()!.close()
      await tcp.close()
      await schema.drop()
    }
  })
})
