import { describe, expect, it } from '@jest/globals'
import {
  hashOfferTypedData,
  hashReceiptTypedData,
  verifyOfferSignatureEIP712,
  verifyReceiptSignatureEIP712,
  type EIP712SignedOffer,
  type EIP712SignedReceipt,
} from '@x402/extensions'
import fc from 'fast-check'
import { addressOfKey, publicKeyOf } from '../../../src/shared/crypto/address-of-key.js'
import { nativeSigning, signInJavaScript } from '../../../src/shared/crypto/native-secp256k1.js'
import { proofDigest, ReceiptIssuer } from '../../../src/shared/crypto/offer-receipt.js'

const privateKey = `0x${'7e'.repeat(32)}` as const
const signer = addressOfKey(privateKey)
const url = 'https://shop.example/report?of=7'
const NOW = 1_790_000_000
let now = NOW * 1000
const issuer = new ReceiptIssuer({ privateKey, publicKey: publicKeyOf(privateKey) }, () => now)

const entry = {
  scheme: 'exact',
  network: 'base',
  amount: '10000',
  payTo: `0x${'5'.repeat(40)}`,
  maxTimeoutSeconds: 300,
  asset: `0x${'6'.repeat(40)}`,
}

interface Extension<Info> {
  readonly 'offer-receipt': { readonly info: Info; readonly schema: object }
}
const offersOf = (accepts: (typeof entry)[]) =>
  (issuer.signOffers(url, accepts) as Extension<{ offers: EIP712SignedOffer[] }>)['offer-receipt']
    .info.offers
const settlement = {
  success: true,
  transaction: `0x${'7'.repeat(64)}`,
  network: 'base-sepolia',
  payer: `0x${'8'.repeat(40)}`,
} as const
const receipt = () =>
  (issuer.signReceipt(url, settlement) as Extension<{ receipt: EIP712SignedReceipt }>)[
    'offer-receipt'
  ].info.receipt

describe('proofDigest', () => {
  it('is that of the official package, for offers and receipts', () => {
    const uint = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
    const text = fc.string({ unit: 'grapheme' })
    const offers = fc.record({
      ...{ version: uint, resourceUrl: text, scheme: text, network: text },
      ...{ asset: text, payTo: text, amount: text, validUntil: uint },
    })
    const receipts = fc.record({
      ...{ version: uint, network: text, resourceUrl: text },
      ...{ payer: text, issuedAt: uint, transaction: text },
    })
    fc.assert(
      fc.property(offers, receipts, (offer, one) => {
        expect(proofDigest('Offer', offer)).toBe(hashOfferTypedData(offer))
        expect(proofDigest('Receipt', one)).toBe(hashReceiptTypedData(one))
      }),
    )
  })
})

describe('a signed offer', () => {
  it('verifies with the official package, on the terms of its entry, for maxTimeoutSeconds', async () => {
    const [first, second] = offersOf([entry, { ...entry, amount: '20000', maxTimeoutSeconds: 60 }])
    expect(await verifyOfferSignatureEIP712(first!)).toStrictEqual({
      signer,
      payload: {
        ...{ version: 1, network: 'eip155:8453', resourceUrl: url, scheme: 'exact' },
        ...{ asset: entry.asset, payTo: entry.payTo, amount: '10000', validUntil: NOW + 300 },
      },
    })
    expect((await verifyOfferSignatureEIP712(second!)).signer).toBe(signer)
    expect(second).toMatchObject({ acceptIndex: 1, payload: { validUntil: NOW + 60 } })
  })

  it.each(['resourceUrl', 'scheme', 'network', 'asset', 'payTo', 'amount', 'validUntil'] as const)(
    'is nobody’s once its %s is another one',
    async (name) => {
      const [offer] = offersOf([entry])
      const payload = { ...offer!.payload, [name]: name === 'validUntil' ? NOW + 301 : 'other' }
      const changed = { ...offer!, payload }
      expect((await verifyOfferSignatureEIP712(changed)).signer).not.toBe(signer)
    },
  )

  it('goes out again for half of the shortest time alone', () => {
    const isOld = issuer.watchOffers([entry, { ...entry, maxTimeoutSeconds: 60 }])
    now += 30_000
    expect(isOld()).toBe(false)
    now += 1
    expect(isOld()).toBe(true)
  })
})

describe('a signed receipt', () => {
  it('names payer, resource, network in CAIP-2 and time, and no transaction', async () => {
    now = NOW * 1000 + 999
    expect(await verifyReceiptSignatureEIP712(receipt())).toStrictEqual({
      signer,
      payload: {
        ...{ version: 1, network: 'eip155:84532', resourceUrl: url },
        ...{ payer: settlement.payer, issuedAt: NOW, transaction: '' },
      },
    })
  })

  it('is nobody’s for another resource', async () => {
    const { payload, ...signed } = receipt()
    const replayed = { ...signed, payload: { ...payload, resourceUrl: 'https://shop.example/' } }
    expect((await verifyReceiptSignatureEIP712(replayed)).signer).not.toBe(signer)
  })
})

describe('signInJavaScript', () => {
  it('makes the signature of libsecp256k1', () => {
    const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 })
    const keys = bytes.filter((key) => key[0]! < 0xff && key.some((byte) => byte > 0))
    fc.assert(
      fc.property(bytes, keys, (digest, key) => {
        const { rs, yParity } = signInJavaScript(digest, key)
        const native = nativeSigning()!(digest, key)
        expect([Buffer.from(rs).toString('hex'), yParity]).toStrictEqual([
          Buffer.from(native.rs).toString('hex'),
          native.yParity,
        ])
      }),
      { numRuns: 20 },
    )
  })
})
