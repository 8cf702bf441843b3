import { afterEach, describe, expect, it } from '@jest/globals'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { createGateway, memoryLedger } from '../../../src/index.js'
import { sqliteLedger } from '../../../src/sql.js'
import { recordLog } from '../../api/api.js'

const { NODE_ENV } = process.env
afterEach(() => {
  process.env['NODE_ENV'] = NODE_ENV
})

const PAY_TO = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
const OWN_KEY = `0x${'5e'.repeat(32)}`
const OWN_ADDRESS = '0xd8291e50e2e68fb2c70d77ccdc707d291a89f209'
/** Account 1 of the mnemonic of development tools, and its key. */
const DEVNET_ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const DEVNET_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'

const optionsOf = ({ network = 'base', key = OWN_KEY, payTo = PAY_TO } = {}): GatewayOptions => ({
  networks: { [network]: { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [key] } },
  projects: [{ id: 'shop', merchant: { payTo } }],
})

/** The warnings of a gateway, in an environment of that name. */
async function warnings(options: GatewayOptions, environment = 'production'): Promise<string[]> {
  process.env['NODE_ENV'] = environment
  const logger = recordLog()
  await createGateway({ ledger: sqliteLedger(':memory:'), ...options, logger }).close()
  return logger.lines.filter((line) => line.startsWith('warn'))
}

/** Each risk, the gateway that runs it, and what is said. */
const risks: ReadonlyArray<readonly [string, () => GatewayOptions, RegExp]> = [
  ['a ledger in memory', () => ({ ...optionsOf(), ledger: memoryLedger() }), /X402_DATABASE_URL/],
  ['a relayer with a public key', () => optionsOf({ key: DEVNET_KEY }), /relayer.*is public/],
  ['a payee with a public key', () => optionsOf({ payTo: DEVNET_ADDRESS }), /"project":"shop"/],
  ['a relayer that is paid', () => optionsOf({ payTo: OWN_ADDRESS }), /on this server/],
  ['a test network', () => optionsOf({ network: 'base-sepolia' }), /"networks":"Base Sepolia"/],
  [
    'a public URL that is not https',
    () => ({ ...optionsOf(), publicUrl: 'http://shop.example' }),
    /"publicUrl":"http:\/\/shop.example"/,
  ],
]

describe('in production, a gateway', () => {
  it('causes no warning without a risk, and never elsewhere', async () => {
    expect(await warnings(optionsOf())).toEqual([])
    expect(await warnings({ ...optionsOf(), publicUrl: 'https://shop.example' })).toEqual([])
    expect(await warnings({ ...optionsOf(), publicUrl: 'http://localhost:3000' })).toEqual([])
    for (const [, options] of risks) expect(await warnings(options(), 'development')).toEqual([])
  })

  it.each(risks)('causes one warning a process: %s', async (_risk, options, words) => {
    expect(await warnings(options())).toEqual([expect.stringMatching(words)])
    expect(await warnings(options())).toEqual([])
  })

  it('never shows the key in a warning', async () => {
    const all = await warnings(optionsOf({ key: DEVNET_KEY, network: 'base-sepolia' }))
    expect(all.join()).not.toContain(DEVNET_KEY.slice(2))
  })
})

describe('a merchant whose currency nothing is pegged to', () => {
  const optionsIn = (id: string, merchant: object, rates?: GatewayOptions['rates']) => ({
    ...optionsOf(),
    projects: [{ id, merchant: { payTo: PAY_TO, ...merchant } }],
    ...(rates !== undefined && { rates }),
  })

  it('causes a warning at start in every environment', async () => {
    expect(await warnings(optionsIn('euros', { currency: 'EUR' }), 'development')).toEqual([
      expect.stringMatching(
        /pegged to its currency.*"project":"euros","currency":"EUR","tokens":"USDC on Base"/,
      ),
    ])
  })

  it('causes a warning if it converts prices without any rates', async () => {
    const merchant = { currency: 'EUR', crossCurrency: true }
    expect(await warnings(optionsIn('unrated', merchant))).toHaveLength(1)
    expect(await warnings(optionsIn('rated', merchant, { 'EUR/USD': '1.08' }))).toEqual([])
  })

  it('causes no warning if it names no currency, or accepts a token of it', async () => {
    expect(await warnings(optionsIn('dollars', { currency: 'USD' }))).toEqual([])
    const networks = { base: { ...optionsOf().networks!['base'], assets: ['EURC'] } }
    expect(await warnings({ ...optionsIn('unnamed', {}), networks })).toEqual([])
  })
})

describe('two gateways in one process', () => {
  const PAYEE = `0x${'2f'.repeat(20)}`
  const open = (options: GatewayOptions = {}) => {
    const logger = recordLog()
    const gateway = createGateway({ ...optionsOf({ payTo: PAYEE }), ...options, logger })
    const warned = () => logger.lines.filter((line) => line.includes('Two gateways'))
    return { gateway, warned }
  }

  it('are warned of if they know nothing of the payments to their one payee', async () => {
    const ledger = memoryLedger()
    const closed = open()
    await closed.gateway.close()
    const other = open({ publicUrl: 'https://other.example' })
    const first = open({ ledger })
    const shared = open({ ledger })
    expect([other, first, shared].flatMap(({ warned }) => warned())).toEqual([])
    const alone = open()
    expect(alone.warned()).toEqual([expect.stringContaining(`"payTo":"${PAYEE}`)])
    await Promise.all([other, first, shared, alone].map(({ gateway }) => gateway.close()))
  })
})
