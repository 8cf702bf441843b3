/** The extension `offer-receipt` of x402 v2, in its EIP-712 form: signed offers, and receipts for what was delivered. */
import { findNetwork } from '../protocol/networks.js'
import { bytesOf, hexOf } from '../protocol/hex.js'
import type { Hex, PaymentRequirements, SettleResponse } from '../protocol/payment.js'
import { hashText, typedDataDigest, Words } from './eip712.js'
import { signDigest } from './native-secp256k1.js'

export const OFFER_RECEIPT = 'offer-receipt'

/** The members of each struct, in the order in which they are signed (§4.3, §5.3 of the extension). */
const MEMBERS = {
  Offer:
    'uint256 version,string resourceUrl,string scheme,string network,string asset,string payTo,string amount,uint256 validUntil',
  Receipt:
    'uint256 version,string network,string resourceUrl,string payer,uint256 issuedAt,string transaction',
}

type Payload = Readonly<Record<string, unknown>> & { readonly network: string }

/** Hashes a payload as it is signed. The domain's chain id is 1 on every network (§3.2). */
export function proofDigest(struct: keyof typeof MEMBERS, payload: Payload): Hex {
  const domain = new Words(4)
    .bytes(hashText('EIP712Domain(string name,string version,uint256 chainId)'))
    .bytes(hashText(`x402 ${struct.toLowerCase()}`))
    .bytes(hashText('1'))
    .number(1n)
  const members = MEMBERS[struct].split(',')
  const words = new Words(members.length + 1).bytes(hashText(`${struct}(${MEMBERS[struct]})`))
  for (const member of members) {
    const [type, name = ''] = member.split(' ')
    if (type === 'string') words.bytes(hashText(String(payload[name])))
    else words.number(BigInt(Number(payload[name])))
  }
  return typedDataDigest(domain.hashHex(), words.hash())
}

const extensionOf = (name: string, type: string, value: object) => {
  const schema = { type: 'object', properties: { [name]: { type } }, required: [name] }
  return { [OFFER_RECEIPT]: { info: { [name]: value }, schema } }
}

export class ReceiptIssuer {
  readonly #key: { readonly privateKey: Hex; readonly publicKey: Uint8Array }
  readonly #now: () => number

  /** @param now - Milliseconds since the epoch. */
  constructor(key: { privateKey: Hex; publicKey: Uint8Array }, now: () => number) {
    this.#key = key
    this.#now = now
  }

  /** Signs the entries of a 402, each for its `maxTimeoutSeconds`. */
  signOffers(resourceUrl: string, accepts: readonly PaymentRequirements[]): object {
    const offers = accepts.map((entry, acceptIndex) => {
      const { scheme, network, asset, payTo, amount, maxTimeoutSeconds } = entry
      const validUntil = this.#seconds() + maxTimeoutSeconds
      const terms = { resourceUrl, scheme, network, asset, payTo, amount, validUntil }
      return { acceptIndex, ...this.#sign('Offer', terms) }
    })
    return extensionOf('offers', 'array', offers)
  }

  /** @returns Tells later whether half of the time is over that offers signed now are valid. */
  watchOffers(accepts: readonly PaymentRequirements[]): () => boolean {
    const shortest = Math.min(...accepts.map((entry) => entry.maxTimeoutSeconds))
    const end = this.#now() + (shortest * 1000) / 2
    return () => this.#now() > end
  }

  /** Signs that what was paid for is delivered. The transaction stays private (§5.2). */
  signReceipt(
    resourceUrl: string,
    { network, payer }: Extract<SettleResponse, { success: true }>,
  ): object {
    const receipt = { network, resourceUrl, payer, issuedAt: this.#seconds(), transaction: '' }
    return extensionOf('receipt', 'object', this.#sign('Receipt', receipt))
  }

  /** The DID document by which a site names the key (did:web). @param root - The site's URL. */
  didDocument(root: string): object {
    const id = `did:web:${encodeURIComponent(new URL(root).host)}`
    const publicKey = Buffer.from(this.#key.publicKey)
    const [x, y] = [0, 32].map((at) => publicKey.toString('base64url', at, at + 32))
    const publicKeyJwk = { kty: 'EC', crv: 'secp256k1', x, y }
    const key = { id: `${id}#receipts`, type: 'JsonWebKey2020', controller: id, publicKeyJwk }
    return { id, verificationMethod: [key], assertionMethod: [key.id] }
  }

  #seconds(): number {
    return Math.floor(this.#now() / 1000)
  }

  /** Networks are CAIP-2 there, whatever the payment calls them (§4.2). */
  #sign(struct: keyof typeof MEMBERS, { network, ...others }: Payload): object {
    const payload = { version: 1, network: findNetwork(network)?.caip2 ?? network, ...others }
    const digest = bytesOf(proofDigest(struct, payload))
    const { rs, yParity } = signDigest(digest, bytesOf(this.#key.privateKey))
    return { format: 'eip712', payload, signature: `${hexOf(rs)}${yParity === 1 ? '1c' : '1b'}` }
  }
}
