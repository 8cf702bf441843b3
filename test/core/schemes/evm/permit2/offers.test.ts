/** How tokens are offered: by their own signatures, by Permit2, or both. */
import { describe, expect, it } from '@jest/globals'
import type {
  AssetOptions,
  KnownAssetOptions,
} from '../../../../../src/gateway/config/options/network.js'
import type { PaymentRequired } from '../../../../../src/shared/protocol/payment.js'
import { checked } from '../../../../support/checked.js'
import { shopOptions, useDevnet } from '../../../../support/devnet.js'
import { startRpcProxy } from '../../../../support/rpc-proxy.js'
import { createGateway } from '../../../../../src/gateway/gateway.js'
import { openShop, paymentRequiredOf } from '../../../../support/shop.js'
import { until } from '../../../../support/until.js'
import { useCleanup, closedBy } from '../../../../support/cleanup.js'

const devnet = useDevnet()
const toEnd = useCleanup()

const PERMIT = (): AssetOptions => ({
  ...{ address: devnet.permitToken, symbol: 'PRM', decimals: 18, currency: 'USD', permit2: true },
})
const PLAIN = (): AssetOptions => ({
  ...{ address: devnet.plainToken, symbol: 'PLN', decimals: 6, currency: 'USD' },
})

function withAssets(
  assets: readonly (string | AssetOptions | KnownAssetOptions)[],
  rpcUrl = devnet.rpcUrl,
) {
  const options = shopOptions(devnet)
  const [network] = Object.values(options.networks ?? {})
  return { ...options, networks: { 'base-sepolia': { ...network, rpcUrl, assets } } }
}

async function openWith(...given: Parameters<typeof withAssets>) {
  const shop = await openShop(
    devnet,
    (app, gateway) =>
      app.get('/report', gateway.x402Protect('$0.01'), (_req, res) => void res.send('it')),
    withAssets(...given),
  )
  toEnd.push(() => shop.close())
  return async () => paymentRequiredOf(await shop.ask('/report'))
}

const shown = ({ accepts }: PaymentRequired) =>
  accepts.map(({ asset, extra }) => {
    const { offerId: _offerId, ...rest } = extra ?? {}
    return [asset, rest]
  })

describe('a token', () => {
  it('with ERC-3009 is offered by that first, and by Permit2 where that is asked for', async () => {
    const usdc = { name: 'USDC', version: '2' }
    const byPermit2 = { ...usdc, assetTransferMethod: 'permit2' }
    const both = await openWith([{ asset: 'USDC', permit2: true }])
    await until(async () => 'eip2612GasSponsoring' in ((await both()).extensions ?? {}))
    expect(shown(await both())).toEqual([
      [devnet.asset, usdc],
      [devnet.asset, byPermit2],
    ])
    const usdcByPermit2 = { address: devnet.asset, symbol: 'USDC', decimals: 6, currency: 'USD' }
    const only = await openWith([usdcByPermit2])
    await until(async () => 'eip2612GasSponsoring' in ((await only()).extensions ?? {}))
    expect(shown(await only())).toEqual([[devnet.asset, byPermit2]])
  })

  it('with signed approvals is offered with their domain, once its contract has told it', async () => {
    const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
    const ask = await openWith([PERMIT()], proxy.url)
    const domain = { name: 'Permit Token', version: '1' }
    await until(async () => shown(await ask()).some(([, extra]) => 'name' in Object(extra)))
    const document = await ask()
    expect(shown(document)).toEqual([
      [devnet.permitToken, { ...domain, assetTransferMethod: 'permit2' }],
    ])
    expect(document.extensions?.['eip2612GasSponsoring']).toMatchObject({ info: { version: '1' } })
  })

  it('without either is offered by Permit2, and no approval is sent for its buyers', async () => {
    const ask = await openWith([PLAIN()])
    const document = await ask()
    expect(shown(document)).toEqual([[devnet.plainToken, { assetTransferMethod: 'permit2' }]])
    expect(Object.keys(document.extensions ?? {})).toEqual(['payment-identifier'])
  })

  it('that could not be taken at all is a mistake of the configuration', () => {
    const refused = (asset: object) => () => createGateway(withAssets([asset as AssetOptions]))
    const words = 'Permit2 is the only way to take the token'
    expect(refused({ ...PLAIN(), permit2: false })).toThrow(words)
  })
})

describe('the check', () => {
  const check = async (...given: Parameters<typeof withAssets>) => {
    const gateway = closedBy(toEnd, createGateway(withAssets(...given)))
    const found = await checked(gateway)
    return found
      .filter(({ subject }) => subject === 'token')
      .map(({ code, message }) => [code, message])
  }

  it('tells how each token is taken', async () => {
    expect(await check([{ asset: 'USDC', permit2: true }, PLAIN()])).toEqual([
      ['ok', expect.stringContaining("EIP-712 domain 'USDC'")],
      ['ok', expect.stringContaining('buyers may sign their approval (EIP-2612)')],
      ['ok', expect.stringContaining('6 decimals')],
      ['ok', expect.stringContaining('buyers approve the token to Permit2')],
    ])
  })

  it('finds a network without Permit2', async () => {
    const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
    proxy.fault = (method, params) =>
      method === 'eth_getCode' && String(params[0]).toLowerCase() === devnet.permit2.toLowerCase()
        ? { kind: 'answer', result: '0x' }
        : undefined
    expect(await check([PLAIN()], proxy.url)).toContainEqual([
      'permit2_missing',
      expect.stringContaining(devnet.permit2.toLowerCase()),
    ])
  })
})
