import { describe, expect, it } from '@jest/globals'
import { ConfigError } from '../../../src/shared/errors.js'
import { createGateway } from '../../../src/gateway/gateway.js'
import type { PaywallOptions } from '../../../src/sell/paywall/options.js'
import { useCleanup } from '../../support/cleanup.js'

const toEnd = useCleanup()
const gateway = (paywall?: PaywallOptions | false) => {
  const opened = createGateway({
    networks: {
      'base-sepolia': { rpcUrl: 'http://127.0.0.1:1', relayerKeys: [`0x${'22'.repeat(32)}`] },
    },
    projects: [{ id: 'shop', merchant: { payTo: `0x${'11'.repeat(20)}` } }],
    ...(paywall !== undefined && { paywall }),
  })
  toEnd.push(() => opened.close())
  return opened
}

/** The options that are wrong, with their codes. */
function mistakesOf(make: () => unknown): readonly string[] {
  try {
    make()
  } catch (error) {
    if (error instanceof ConfigError)
      return error.issues.map(({ option, code }) => `${option}: ${code}`)
    throw error
  }
  return []
}

const NETWORK = { name: 'Example Chain', rpcUrl: 'https://rpc.chain.example' }

const WRONG: readonly (readonly [paywall: object, option: string])[] = [
  [{ logo: 'https://elsewhere.example/logo.png' }, 'paywall.logo'],
  [{ logo: '//elsewhere.example/logo.png' }, 'paywall.logo'],
  [{ logo: '/\\elsewhere.example/logo.png' }, 'paywall.logo'],
  [{ logo: 'data:text/html,<script>' }, 'paywall.logo'],
  [{ logo: `data:image/png;base64,${'A'.repeat(70_000)}` }, 'paywall.logo'],
  [{ accent: 'red;}body{display:none' }, 'paywall.accent'],
  [{ accent: '#12345' }, 'paywall.accent'],
  [{ locale: 'nl' }, 'paywall.locale'],
  [{ locale: 'de-u-nu-arab' }, 'paywall.locale'],
  [{ onRamp: 'javascript:alert(1)' }, 'paywall.onRamp'],
  [{ onRamp: 'https://user:secret@ramp.example' }, 'paywall.onRamp'],
  [{ name: '' }, 'paywall.name'],
  [{ name: 5 }, 'paywall.name'],
  [{ colour: '#123456' }, 'paywall.colour'],
  [{ texts: { head: 'x' } }, 'paywall.texts.head'],
  [{ texts: { heading: '' } }, 'paywall.texts.heading'],
  [{ networks: { nowhere: NETWORK } }, 'paywall.networks.nowhere'],
  [{ networks: { base: { ...NETWORK, name: '' } } }, 'paywall.networks.base.name'],
  [{ networks: { base: { name: 'Base' } } }, 'paywall.networks.base.rpcUrl'],
  [{ networks: { base: { ...NETWORK, rpcUrl: 'ws://x' } } }, 'paywall.networks.base.rpcUrl'],
  [
    { networks: { base: { ...NETWORK, rpcUrl: 'https://user:secret@x.example' } } },
    'paywall.networks.base.rpcUrl',
  ],
  [
    { networks: { base: { ...NETWORK, explorer: 'javascript:alert(1)' } } },
    'paywall.networks.base.explorer',
  ],
  [{ networks: { base: { ...NETWORK, nativeSymbol: 'E' } } }, 'paywall.networks.base.nativeSymbol'],
]

describe('the option paywall', () => {
  it.each(WRONG)('of a route refuses %j', (paywall, option) => {
    const mistakes = mistakesOf(() => gateway().x402Protect('$0.01', { paywall }))
    expect(mistakes).toEqual([expect.stringMatching(`^${option}: `)])
  })

  it.each(WRONG)('of a gateway refuses %j', (paywall, option) => {
    expect(mistakesOf(() => gateway(paywall))).toEqual([expect.stringMatching(`^${option}: `)])
  })

  it.each<PaywallOptions | false>([
    false,
    {},
    { logo: '/logo.svg', accent: '#0b5', locale: 'zh-Hans-CN', texts: { heading: 'x' } },
    { networks: { 'eip155:31337': NETWORK, base: { ...NETWORK, explorer: 'https://x.example/' } } },
    { logo: 'data:image/svg+xml;base64,AAAA', accent: '#0b5d4d', locale: 'ja' },
    { locale: 'pt-BR', onRamp: 'https://ramp.example/usdc' },
  ])('accepts %j', (paywall) => {
    expect(mistakesOf(() => gateway(paywall).x402Protect('$0.01', { paywall }))).toEqual([])
  })
})
