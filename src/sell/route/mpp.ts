import { hashOf } from '../../ledger/purchase.js'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { keccakHex } from '../../shared/crypto/keccak.js'
import { parseDocument } from '../../shared/protocol/document.js'
import { decodeHeader } from '../../shared/protocol/headers.js'
import { lowerHex, sameHex } from '../../shared/protocol/hex.js'
import * as wire from '../../shared/protocol/mpp.js'
import { findNetwork } from '../../shared/protocol/networks.js'
import { EXACT, X402_VERSION } from '../../shared/protocol/payment.js'
import type * as x402 from '../../shared/protocol/payment.js'
import { PAYMENT_IDENTIFIER } from '../../shared/protocol/payment-identifier.js'
import { isPermit2 } from '../../shared/protocol/same-offer.js'
import type { SchemeFormats } from '../../core/schemes/scheme.js'
import { takeCredentials } from '../respond/hide-payment.js'
import { bodyDigest } from './body-fingerprint.js'
import type { Challenge, PaymentDialect, PresentedPayment, Receipt } from './payment-dialect.js'
import { NOT_PAID } from './payment-required.js'
import type { RequestView } from './request-view.js'
import { bringsPayment, decodePresented, describe, receiptOf } from './version-2.js'

interface MppContext {
  /** Names challenges. */
  readonly key: Buffer
  readonly formats: SchemeFormats
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** URL of the seller: its host is the realm. */
  readonly url: string | undefined
  /** All that a challenge is for: method, URLs, body, route and merchant. */
  readonly request: readonly string[]
}

/** The members of `opaque`: an entry of `accepts` in JSON, and the hash of the request that the challenge is for. */
type Opaque = Readonly<Record<'entry' | 'for', string>>

/** Problem types of MPP. @defaultValue `verification-failed` */
const PROBLEMS: Readonly<Record<string, string>> = {
  [NOT_PAID]: 'payment-required',
  invalid_payload: 'malformed-credential',
  quote_mismatch: 'invalid-challenge',
  invalid_exact_evm_payload_authorization_valid_before: 'payment-expired',
}

/**
 * MPP, for one request: challenges in `WWW-Authenticate`, and a credential that becomes a payment of x402. Its
 * authorization has the same key in the ledger, whichever way it comes.
 */
export class Mpp implements PaymentDialect {
  readonly credentials: readonly string[]
  readonly #context: MppContext
  readonly #digest: string | undefined
  readonly #realm: string
  readonly #for: string
  /** The challenge that is paid. */
  #paid: string | undefined

  constructor(context: MppContext, view: RequestView) {
    const { url = '', request } = context
    this.credentials = view.credentials ?? takeCredentials(view.req)
    this.#context = context
    this.#digest = bodyDigest(view)
    // A route may name what it sells by something else than a URL.
    this.#realm = (URL.canParse(url) && new URL(url).host) || 'x402'
    this.#for = hashOf(...request)
  }

  async read(view: RequestView): Promise<PresentedPayment | undefined> {
    const [text, second] = this.credentials
    if (text === undefined) return undefined
    if (second !== undefined || bringsPayment(view))
      return refused('invalid_payload', 'The request has two payments: send one of them alone.')
    const unreadable = (problem: string): PresentedPayment => {
      const place = view.placeOf(wire.AUTHORIZATION)
      return refused('invalid_payload', `The ${place} cannot be read: ${problem}.`)
    }
    const document = decodeHeader(text)
    if (!document.ok) return unreadable(document.problem)
    const read = parseDocument(wire.credentialSchema, document.value)
    if (!read.ok) return unreadable(describe('', read.errors))
    this.#paid = read.value.challenge.id
    return this.#whyRefused(read.value) ?? this.#toPayment(read.value)
  }

  challenge({ accepts, error = '', errorMessage = error }: x402.PaymentRequired) {
    const entries = accepts.filter((entry) => entry.scheme === EXACT && !isPermit2(entry))
    const type = `https://paymentauth.org/problems/${PROBLEMS[error] ?? 'verification-failed'}`
    return {
      challenges: entries.map((entry) => this.#challengeFor(entry)),
      problem: { type, title: 'Payment Required', status: 402, detail: errorMessage },
    } satisfies Partial<Challenge>
  }

  /** That of x402 is beside it: only a success has one of MPP. */
  receipt(settlement: x402.SettleResponse): Receipt {
    const receipt = receiptOf(settlement)
    if (!settlement.success) return receipt
    const own = {
      chainId: findNetwork(settlement.network)?.chainId,
      challengeId: this.#paid,
      method: wire.EVM_CHARGE.method,
      reference: settlement.transaction,
      status: 'success',
      timestamp: new Date(this.#context.now()).toISOString(),
    }
    return { ...receipt, [wire.PAYMENT_RECEIPT]: wire.encodeJson(own) }
  }

  #challengeFor(entry: x402.PaymentRequirements): wire.PaymentChallenge {
    const { key, now } = this.#context
    const chainId = findNetwork(entry.network)?.chainId
    // Wallets sign for whole seconds.
    const expires = (Math.floor(now() / 1000) + entry.maxTimeoutSeconds) * 1000
    return wire.nameChallenge(key, {
      realm: this.#realm,
      ...wire.EVM_CHARGE,
      request: wire.encodeJson({
        amount: entry.amount,
        currency: checksumAddress(lowerHex(entry.asset)),
        methodDetails: { chainId, credentialTypes: ['authorization'] },
        recipient: checksumAddress(lowerHex(entry.payTo)),
      }),
      expires: new Date(expires).toISOString(),
      digest: this.#digest,
      opaque: wire.encodeJson({ entry: JSON.stringify(entry), for: this.#for } satisfies Opaque),
    })
  }

  /** Refuses what was not signed for a challenge of this very request, or for longer than that holds. */
  #whyRefused({ challenge, payload }: wire.Credential): PresentedPayment | undefined {
    const other = (words: string) => refused('quote_mismatch', `${words} Pay a new challenge.`)
    if (!wire.isOwn(this.#context.key, challenge)) return other('The challenge is not from here.')
    if (challenge.digest !== this.#digest) return other('The challenge is for another body.')
    if (challenge.realm !== this.#realm || opaqueOf(challenge).for !== this.#for)
      return other('The challenge is for another request.')
    const nonce = keccakHex(Buffer.from(challenge.id + challenge.realm))
    if (!sameHex(payload.nonce, nonce)) return other('The nonce is not that of the challenge.')
    const isLonger = Number(payload.validBefore) * 1000 > Date.parse(challenge.expires)
    return isLonger ? other('The authorization outlives its challenge.') : undefined
  }

  /** The id of its challenge is that of the payment: no chain shows it. */
  #toPayment({ challenge, payload, source }: wire.Credential): PresentedPayment {
    const accepted = JSON.parse(opaqueOf(challenge).entry) as x402.PaymentRequirements
    const payer = `did:pkh:${findNetwork(accepted.network)?.caip2}:${payload.from}`
    if (source !== undefined && !sameHex(source, payer))
      return refused('invalid_payload', 'The source is not the account that pays.')
    const { type: _type, signature, ...authorization } = payload
    const value = {
      x402Version: X402_VERSION,
      accepted: { ...accepted },
      payload: { signature, authorization },
      extensions: { [PAYMENT_IDENTIFIER]: { info: { id: challenge.id } } },
    }
    const presented = decodePresented('credential', { ok: true, value }, this.#context.formats)
    if (presented.kind !== 'unreadable') return presented
    return refused('invalid_payload', presented.problem)
  }
}

const opaqueOf = ({ opaque }: wire.PaymentChallenge): Opaque => wire.decodeJson(opaque) as Opaque

const refused = (error: string, message: string): PresentedPayment => {
  return { kind: 'refused', error, message }
}
