import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { ledgerLocation } from '../../../src/tools/cli/ledger-location.js'
import { nameVariables } from '../../../src/gateway/config/read/name-variables.js'
import { optionsFromEnvironment } from '../../../src/gateway/config/read/override.js'
import { SERVE_DATABASE, type Environment } from '../../../src/gateway/config/read/variables.js'
import { ConfigError } from '../../../src/shared/errors.js'
import { resolveOptions } from '../../../src/gateway/config/resolve/resolve-options.js'

const KEY = `0x${'5e'.repeat(32)}`
const OTHER_KEY = `0x${'5f'.repeat(32)}`
const PAY_TO = '0x000000000000000000000000000000000000bEEF'
const COMPLETE = {
  X402_PAY_TO: PAY_TO,
  X402_NETWORK: 'base',
  X402_RPC_URL: 'https://base.example/v2/key',
  X402_RELAYER_KEY: KEY,
}

/** Variables that a gateway of this environment complains about. */
function wrong(env: Environment): string[] {
  try {
    resolveOptions(optionsFromEnvironment(env))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return nameVariables(error, { env, isAlone: true }).issues.map(({ option }) => option)
  }
  return []
}

describe('the environment', () => {
  it('describes one network and one project', () => {
    expect(optionsFromEnvironment(COMPLETE)).toStrictEqual({
      networks: { base: { rpcUrl: 'https://base.example/v2/key', relayerKeys: [KEY] } },
      projects: [{ id: 'default', merchant: { payTo: PAY_TO } }],
    })
    expect(wrong(COMPLETE)).toStrictEqual([])
  })

  it('can set every option', () => {
    const env = {
      ...COMPLETE,
      X402_RELAYER_KEY: ` ${KEY}, ${OTHER_KEY} `,
      X402_ASSET: 'EURC',
      X402_PROJECT_TOKEN: 'x402_token-of-the-shop',
      X402_PUBLIC_URL: 'https://pay.example.com',
      X402_QUOTE_SECRET: 'a secret of more than thirty-two characters',
    }
    expect(optionsFromEnvironment(env)).toStrictEqual({
      publicUrl: 'https://pay.example.com',
      quoteSecret: 'a secret of more than thirty-two characters',
      networks: {
        base: {
          rpcUrl: 'https://base.example/v2/key',
          relayerKeys: [KEY, OTHER_KEY],
          assets: ['EURC'],
        },
      },
      projects: [
        { id: 'default', tokens: ['x402_token-of-the-shop'], merchant: { payTo: PAY_TO } },
      ],
    })
    expect(wrong(env)).toStrictEqual([])
  })

  it('names the gateway as its operator sees it', () => {
    const observed = (variables: Environment) => {
      const { metrics, traces } = optionsFromEnvironment({ ...COMPLETE, ...variables })
      return { metrics, traces }
    }
    expect(observed({})).toEqual({ metrics: undefined, traces: undefined })
    const on = { X402_METRICS_TOKEN: 'x', X402_TRACES: ' true ' }
    expect(observed(on)).toEqual({ metrics: { token: 'x' }, traces: true })
    expect(observed({ X402_TRACES: 'false' })).toMatchObject({ traces: false })
  })

  it.each([
    ['X402_TRACES', { X402_TRACES: '1' }],
    ['X402_TRUST_PROXY', { X402_TRUST_PROXY: 'true' }],
    ['X402_TRUST_PROXY', { X402_TRUST_PROXY: '0' }],
    ['X402_TRUST_PROXY', { X402_TRUST_PROXY: '0.0.0.0/0' }],
    ['X402_TRUST_PROXY', { X402_TRUST_PROXY: 'loopback, proxy.example' }],
    ['X402_METRICS_TOKEN', { X402_METRICS_TOKEN: 'short' }],
  ])('is reported by %s with the mistake in %j', (variable, env) => {
    expect(wrong({ ...COMPLETE, ...env })).toStrictEqual([variable])
  })

  it.each([
    [undefined, ['loopback']],
    ['2', 2],
    ['false', false],
    ['loopback, uniquelocal', ['loopback', 'uniquelocal']],
    ['10.0.0.7,fd00::/8', ['10.0.0.7', 'fd00::/8']],
  ])('trusts the proxies of X402_TRUST_PROXY=%s', (given, trustProxy) => {
    const options = optionsFromEnvironment({ ...COMPLETE, X402_TRUST_PROXY: given })
    expect(resolveOptions(options).trustProxy).toStrictEqual(trustProxy)
  })

  it('is reported by variable if a secret is too short', () => {
    expect(wrong({ ...COMPLETE, X402_QUOTE_SECRET: 'short' })).toStrictEqual(['X402_QUOTE_SECRET'])
  })

  it('keeps payments in the database that it names, of a known kind', async () => {
    const { ledger } = optionsFromEnvironment({
      ...COMPLETE,
      X402_DATABASE_URL: 'postgres://127.0.0.1:9/none',
    })
    expect(resolveOptions({ ledger: ledger! }).ledger).toBe(ledger)
    await ledger?.close()
    expect(wrong({ ...COMPLETE, X402_DATABASE_URL: ' ' })).toStrictEqual([])
    expect(wrong({ ...COMPLETE, X402_DATABASE_URL: 'mysql://127.0.0.1/none' })).toStrictEqual([
      'X402_DATABASE_URL',
    ])
  })

  it.each(['sqlite:./data/ledger.db', 'sqlite://data/ledger.db', 'absolute'])(
    'keeps payments in the SQLite file that it names: %s',
    async (given) => {
      const folder = await mkdtemp(join(tmpdir(), 'x402-environment-'))
      const file = join(folder, 'data/ledger.db')
      const url = given === 'absolute' ? `sqlite://${file}` : given
      try {
        const env = { ...COMPLETE, X402_DATABASE_URL: url }
        const { ledger } = optionsFromEnvironment(env, { variables: SERVE_DATABASE, folder })
        expect(existsSync(file)).toBe(true)
        await ledger?.close()
        expect(ledgerLocation({ env, folder }, { cwd: folder })).toEqual({
          location: { file },
          option: 'X402_DATABASE_URL',
          unused: undefined,
        })
      } finally {
        await rm(folder, { recursive: true })
      }
    },
  )

  it.each([
    ['sqlite:', 'must name a file'],
    ['sqlite::memory:', 'must name a file'],
    ['sqlite:ledger.db?mode=ro', 'must name a file'],
    ['./data/ledger.db', 'for SQLite, write sqlite:./data/ledger.db'],
    ['postgres:/db/payments', 'must be a URL like postgres://'],
  ])('refuses what may be no database of the ledger, and creates none: %s', (url, message) => {
    const env = { ...COMPLETE, X402_DATABASE_URL: url }
    const read = () => optionsFromEnvironment(env)
    expect(read).toThrow(expect.objectContaining({ option: 'X402_DATABASE_URL' }))
    expect(read).toThrow(message)
    expect(existsSync('data')).toBe(false)
  })

  it('takes several tokens, and those of other currencies at a rate', () => {
    const env = { ...COMPLETE, X402_ASSET: 'USDC, EURC', X402_CROSS_CURRENCY: 'true' }
    const { projects } = resolveOptions(optionsFromEnvironment(env))
    expect(projects[0]?.merchant).toMatchObject({
      accepts: [{ symbol: 'USDC' }, { symbol: 'EURC' }],
      crossCurrency: true,
    })
    expect(wrong({ ...env, X402_ASSET: 'USDC,ERUC' })).toStrictEqual(['X402_ASSET'])
    expect(wrong({ ...env, X402_CROSS_CURRENCY: 'yes' })).toStrictEqual(['X402_CROSS_CURRENCY'])
  })

  it.each(['postgres://127.0.0.1:9/app', 'mysql://127.0.0.1/app', 'file:./dev.db'])(
    'leaves the DATABASE_URL of the app alone (rule 24): %s',
    (url) => {
      const env = { ...COMPLETE, DATABASE_URL: url }
      expect(optionsFromEnvironment(env)).not.toHaveProperty('ledger')
      expect(wrong(env)).toStrictEqual([])
    },
  )

  it('gives serve X402_DATABASE_URL before DATABASE_URL, and names the one it took', async () => {
    const bad = 'mysql://127.0.0.1/none'
    const read = (env: object) => () =>
      optionsFromEnvironment({ ...COMPLETE, ...env }, { variables: SERVE_DATABASE })
    expect(read({ DATABASE_URL: bad })).toThrow(expect.objectContaining({ option: 'DATABASE_URL' }))
    expect(read({ X402_DATABASE_URL: bad, DATABASE_URL: 'postgres://h/n' })).toThrow(
      expect.objectContaining({ option: 'X402_DATABASE_URL' }),
    )
    const { ledger } = read({ X402_DATABASE_URL: 'postgres://h/n', DATABASE_URL: bad })()
    expect(ledger).toBeDefined()
    await ledger?.close()
  })

  it('needs no node and no key with a remote facilitator', () => {
    const remote = {
      X402_PAY_TO: PAY_TO,
      X402_NETWORK: 'base',
      X402_FACILITATOR_URL: 'https://pay.example.com/api/v2/payment',
      X402_FACILITATOR_TOKEN: 'x402_token',
    }
    expect(wrong(remote)).toStrictEqual([])
    expect(optionsFromEnvironment(remote).facilitator).toBeDefined()
    expect(wrong({ ...remote, X402_FACILITATOR_URL: undefined })).toStrictEqual([
      'X402_RPC_URL',
      'X402_RELAYER_KEY',
    ])
  })

  it.each([{}, { X402_PAY_TO: ' ', X402_NETWORK: '' }])(
    'names every variable that is missing: %j',
    (env) => {
      expect(wrong(env).sort()).toStrictEqual([
        'X402_NETWORK',
        'X402_PAY_TO',
        'X402_RELAYER_KEY',
        'X402_RPC_URL',
      ])
    },
  )

  it('names what is wrong together with what is missing', () => {
    const env = {
      X402_NETWORK: 'nowhere',
      X402_RPC_URL: 'base.example',
      X402_RELAYER_KEY: `${KEY},`,
      X402_PROJECT_TOKEN: 'short',
      X402_PUBLIC_URL: 'pay.example.com',
    }
    expect(wrong(env).sort()).toStrictEqual([
      'X402_NETWORK',
      'X402_PAY_TO',
      'X402_PROJECT_TOKEN',
      'X402_PUBLIC_URL',
      'X402_RELAYER_KEY',
      'X402_RPC_URL',
    ])
    expect(wrong({ ...COMPLETE, X402_ASSET: 'DOGE' })).toStrictEqual(['X402_ASSET'])
  })

  it('shows no secret in its errors', () => {
    const env = { ...COMPLETE, X402_NETWORK: COMPLETE.X402_RPC_URL, X402_RELAYER_KEY: KEY.slice(3) }
    const refuse = (): unknown => resolveOptions(optionsFromEnvironment(env))
    expect(refuse).toThrow(ConfigError)
    expect(refuse).not.toThrow(/5e5e|v2\/key/)
    expect(wrong(env)).toStrictEqual(['X402_RELAYER_KEY', 'X402_NETWORK'])
  })
})
