/** Sign-in at one route: what its 402 asks to sign, who has signed, and the access that was paid for. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CheckSigner } from '../../core/facilitator/signers.js'
import type { LedgerStore } from '../../ledger/index.js'
import { hashOf } from '../../ledger/purchase.js'
import type { BoughtAccess } from '../../ledger/record.js'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { durationSchema } from '../../shared/duration.js'
import { ConfigError } from '../../shared/errors.js'
import type { ParsedPrice } from '../../shared/money/price.js'
import { lowerHex } from '../../shared/protocol/hex.js'
import {
  readSignIn,
  SIGN_IN_WITH_X,
  signInMessage,
  signInReasons,
  signInSchema,
  type SignInExtension,
  type SignInPayload,
  type SignInReason,
} from '../../shared/protocol/sign-in.js'
import { world } from '../../shared/world.js'
import type { ExceededLimit } from '../flow/payment-rate-limit.js'
import type { OfferedParts } from '../route/make-offer.js'
import { pricedMethod, type RequestView } from '../route/request-view.js'
import { accessPriceName } from '../route/route-prices.js'
import { whyMisplaced } from './check-sign-in.js'
import type { SignedIn } from './signed-in.js'

export interface SignInRefusal {
  readonly error: SignInReason
  readonly message: string
}

/** Dependencies of sign-ins. */
export interface SignInContext {
  readonly ledger: Pick<LedgerStore, 'signIns'>
  /** Signs nonces: the same one in all gateways on a ledger. */
  readonly secret: () => Promise<string>
  readonly checkSigner: CheckSigner
  /** Most questions to contract accounts, for one address of clients. */
  readonly questionsAMinute: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

type SigningRoute = Pick<OfferedParts, 'merchant' | 'options' | 'prices' | 'resource'>

/** 64 bits each. */
const NONCE = { salt: 8, digits: 16 }

export class RouteSignIn {
  readonly #context: SignInContext
  readonly #route: SigningRoute
  readonly #chains: readonly string[]
  readonly #accessMs: number | undefined

  constructor(context: SignInContext, route: SigningRoute) {
    const { access } = route.options
    this.#context = context
    this.#route = route
    this.#chains = [...new Set(route.merchant.accepts.map(({ network }) => network.caip2))]
    this.#accessMs = access === undefined ? undefined : durationSchema.parse(access)
  }

  /** Asks who calls, in a 402. Each asks with a nonce of its own. */
  async ask(view: RequestView): Promise<SignInExtension> {
    const uri = this.#uriOf(view)
    const issuedAt = new Date(this.#context.now()).toISOString()
    const nonce = await this.#nonce(world.randomBytes(NONCE.salt).toString('hex'), issuedAt, view)
    const { host: domain } = new URL(uri)
    return {
      info: { domain, uri, version: '1', nonce, issuedAt, resources: [uri] },
      supportedChains: this.#chains.map((chainId) => ({ chainId, type: 'eip191' })),
      schema: signInSchema,
    }
  }

  /**
   * Reads who has signed a request, and takes its nonce: it is not good again. Cheap checks come first.
   *
   * @returns `undefined` if nobody tries to sign in.
   * @throws `ChainError` if a contract account could not be asked, and `LedgerError`.
   */
  async read(view: RequestView): Promise<SignedIn | SignInRefusal | ExceededLimit | undefined> {
    const header = view.header(SIGN_IN_WITH_X)
    if (header === undefined) return undefined
    const read = readSignIn(header)
    if (!read.ok) {
      const [{ path, message } = { path: '', message: '' }] = read.errors
      return refusal('invalid_siwx_malformed_signature', `${path} ${message}`.trim())
    }
    const payload = read.value
    const expected = { uri: this.#uriOf(view), chains: this.#chains, now: this.#context.now() }
    const misplaced = whyMisplaced(payload, expected)
    if (misplaced !== undefined) return refusal(misplaced)
    if (!(await this.#isOwn(payload, view))) return refusal('invalid_siwx_nonce')
    const { chainId, address, signature } = payload
    const account = lowerHex(address)
    const signed = { chainId, account, message: signInMessage(payload), signature }
    const signer = await this.#context.checkSigner(signed, view.ip)
    if (signer === 'nobody') return refusal('invalid_siwx_signature')
    if (signer === 'unknown') return refusal('invalid_siwx_verifier_error')
    if (signer === 'busy') return tooMany(this.#context.questionsAMinute)
    if (!(await this.#context.ledger.signIns.take(payload.nonce)))
      return refusal('invalid_siwx_nonce')
    return { address: checksumAddress(account), chainId, isContract: signer === 'contract' }
  }

  /** Tells whether a caller who has signed in has paid for this. @param price - Its price now. */
  async isOpen(
    view: RequestView,
    { address, chainId, isContract }: SignedIn,
    price: ParsedPrice | undefined,
  ): Promise<boolean> {
    const { fixedNames = price && [accessPriceName(price)] } = this.#route.prices
    const keys = (fixedNames ?? []).flatMap((name) => this.accessOf(view, name)?.key ?? [])
    const on = isContract ? Number(chainId.slice('eip155:'.length)) : undefined
    const { signIns } = this.#context.ledger
    for (const key of new Set(keys))
      if (await signIns.hasAccess({ payer: address, key, chainId: on })) return true
    return false
  }

  /**
   * What a payment for a request opens: only what costs the same, because an app may choose between routes by anything
   * in a request. A group is all that its fixed prices open.
   *
   * @param paid - Name of the price that it buys at; nothing opens where that is not known.
   */
  accessOf(view: RequestView, paid: string | undefined): BoughtAccess | undefined {
    const { merchant, options, prices, resource } = this.#route
    if (this.#accessMs === undefined || paid === undefined) return undefined
    const { accessGroup } = options
    const isPlace = accessGroup === undefined
    const opened = isPlace
      ? ['at', pricedMethod(view), resource.placeOf(view)]
      : ['group', accessGroup]
    const priced = isPlace || prices.fixed === undefined ? paid : undefined
    return { key: hashOf(merchant.project, priced, ...opened), ms: this.#accessMs }
  }

  /** @throws `ConfigError` if only the request itself says at which site it is. */
  #uriOf(view: RequestView): string {
    const { uri, isNamed } = this.#route.resource.siteUrlOf(view)
    if (isNamed || isLocal(new URL(uri).hostname)) return uri
    throw new ConfigError(
      'publicUrl',
      'is not set, but what a caller signs names the site: routes with signIn or access need it, except on localhost',
      'missing_option',
    )
  }

  async #isOwn({ nonce, issuedAt }: SignInPayload, view: RequestView): Promise<boolean> {
    const own = await this.#nonce(nonce.slice(0, NONCE.digits), issuedAt, view)
    const [given, made] = [Buffer.from(nonce), Buffer.from(own)]
    return given.length === made.length && timingSafeEqual(given, made)
  }

  /** A salt, and what only gateways on this ledger can make of it, URL, method, project and time. */
  async #nonce(salt: string, issuedAt: string, view: RequestView): Promise<string> {
    const { project } = this.#route.merchant
    const seed = ['x402-sign-in-v1', salt, this.#uriOf(view), pricedMethod(view), project, issuedAt]
    const hmac = createHmac('sha256', await this.#context.secret()).update(JSON.stringify(seed))
    return salt + hmac.digest('hex').slice(0, NONCE.digits)
  }
}

const refusal = (error: SignInReason, message: string = signInReasons[error]): SignInRefusal => ({
  error,
  message,
})

const tooMany = (limit: number): ExceededLimit => {
  return { kind: 'rate_limited', by: 'address', windowMs: 60_000, limit, resetTime: undefined }
}

/** Nobody else can be at these (RFC 6761). */
const isLocal = (hostname: string): boolean =>
  ['localhost', '127.0.0.1', '[::1]'].includes(hostname) || hostname.endsWith('.localhost')
