import { describe, expect, it } from '@jest/globals'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { Version1 } from '../../../src/sell/route/version-1.js'
import { findKnownAsset, type Asset } from '../../../src/shared/money/assets.js'
import { findNetwork } from '../../../src/shared/protocol/networks.js'
import { paymentRequiredV1 } from '../../../src/shared/protocol/version-1.js'
import { exactFormat } from '../../support/exact-format.js'
import { signPayment } from '../../support/sign-payment.js'
import { asVersion1 } from '../../support/version-1.js'

const privateKey = generatePrivateKey()
const payer = { privateKey, address: privateKeyToAddress(privateKey) }
const payTo = `0x${'5'.repeat(40)}`
const formats = new Map([['exact', exactFormat]])
const on = (network: string, symbol: string): Asset =>
  findKnownAsset(findNetwork(network)!, symbol)!
const USDC = on('base-sepolia', 'USDC')
const EURC = on('base-sepolia', 'EURC')

const sign = ({ network, address, eip712 }: Asset) =>
  signPayment(payer, {
    scheme: 'exact',
    network: network.caip2,
    amount: '10000',
    payTo,
    maxTimeoutSeconds: 300,
    asset: address,
    extra: { ...eip712 },
  })

const read = async (document: unknown, accepts: readonly Asset[]) => {
  const version1 = new Version1({ accepts, maxTimeoutSeconds: 300 }, formats)
  const payment = await version1.toVersion2(document)
  return payment.ok ? payment.value.accepted : payment.errors
}

describe('a 402 of version 1', () => {
  const write = (asset: Asset) => {
    const [first, ...others] = exactFormat.offers(asset, {}).map((extra) => ({
      ...{ scheme: 'exact', network: 'base-sepolia', amount: '1', payTo, maxTimeoutSeconds: 300 },
      ...{ asset: asset.address, extra },
    }))
    const resource = { url: 'https://shop.example/' }
    const accepts = [first!, ...others] as const
    return paymentRequiredV1({ x402Version: 2, protocolVersion: 2, resource, accepts })
  }

  it('offers no payment by Permit2', () => {
    expect(write({ ...USDC, permit2: true })?.accepts).toEqual(write(USDC)?.accepts)
    expect(write({ ...USDC, eip712: undefined })).toBeUndefined()
  })
})

describe('a payment of version 1', () => {
  it.each([
    ['USDC', USDC],
    ['EURC', EURC],
  ])('is for %s if that is the token it was signed for', async (_symbol, asset) => {
    const document = asVersion1(await sign(asset))
    for (const accepts of [
      [USDC, EURC],
      [EURC, USDC],
      [on('base', 'USDC'), USDC, EURC],
    ])
      expect(await read(document, accepts)).toMatchObject({
        asset: asset.address,
        amount: '10000',
        payTo,
        network: 'base-sepolia',
      })
  })

  it('is for the first token of its network if its signature fits none', async () => {
    const document = asVersion1(await sign({ ...USDC, eip712: { name: 'Other', version: '1' } }))
    expect(await read(document, [EURC, USDC])).toMatchObject({ asset: EURC.address })
    expect(await read(document, [on('base', 'USDC'), USDC])).toMatchObject({ asset: USDC.address })
  })

  it('is for no token where the merchant takes none of its network', async () => {
    const accepted = await read(asVersion1(await sign(USDC)), [on('base', 'USDC')])
    expect(accepted).toMatchObject({ asset: `0x${'0'.repeat(40)}` })
  })

  it('never accepts an offer by Permit2', async () => {
    const document = asVersion1(await sign(USDC))
    const by = async (asset: Asset) => read(document, [asset])
    expect(await by({ ...USDC, permit2: true })).toMatchObject({ extra: USDC.eip712 })
    expect(await by({ ...USDC, eip712: undefined })).toMatchObject({ extra: undefined })
  })

  it('names what it lacks', async () => {
    expect(await read({ x402Version: 1, payload: [] }, [USDC])).toMatchObject([
      { path: 'payload' },
      { path: 'scheme' },
      { path: 'network' },
    ])
    expect(
      await read(asVersion1(await sign(USDC), { payload: { signature: '0x' } }), [USDC]),
    ).toMatchObject([{ path: 'payload.signature' }, { path: 'payload.authorization' }])
  })
})
