/** A gateway that sells in every way, and what buyers were told there. */
import { STATUS, type Face, type ProblemCode } from '../../../src/shared/http/problem-status.js'
import { PROJECT_TOKEN } from '../../../src/shared/protocol/headers.js'
import type {
  Hex,
  PaymentRequired,
  PaymentRequirements,
} from '../../../src/shared/protocol/payment.js'
import type { NetworkOptions } from '../../../src/gateway/config/options/network.js'
import type { GatewayProcess } from '../../faults/gateway-process.js'
import type { Answer } from '../../faults/oracle.js'
import type { World } from '../../faults/world.js'
import { decodeDocument } from '../../support/http.js'
import { OpenApiValidator, wholeDocument } from '../../support/openapi-validator.js'
import { kinds } from './kinds/kinds.js'
import { send, type WireAnswer } from './buyer.js'
import type { Terms } from './kind.js'
import type { WireRequest } from './mutation.js'
import { TOKENS, type Target } from './targets.js'

/** What a target asks for, and where. */
export interface Asked {
  readonly path: string
  readonly resource: PaymentRequired['resource']
  readonly accepts: readonly PaymentRequirements[]
}

/** What a presented payment came to. */
export interface Told extends Answer {
  /** The purchase was let out, or `verify` found the payment good. */
  readonly isGood: boolean
  /** What must not be in any answer. */
  readonly mistakes: readonly string[]
}

/** A route with a maximum. */
const METERED = '/charged/3'

/** Asks and presents. */
export class Market {
  readonly #gateway: GatewayProcess
  /** Another process of the same gateway. */
  readonly #second: GatewayProcess
  readonly #secrets: readonly string[]
  readonly #validator: OpenApiValidator
  /** Names of one payment each: a payer pays once. */
  readonly answers: Answer[] = []
  #visits = 0
  #facilitator: Promise<Pick<Terms, 'facilitator'>> | undefined

  private constructor(
    world: World,
    [gateway, second]: readonly [GatewayProcess, GatewayProcess],
    validator: OpenApiValidator,
  ) {
    this.#gateway = gateway
    this.#second = second
    this.#validator = validator
    const keys = world.relayers.map(({ key }) => key.slice(2))
    this.#secrets = [
      ...keys,
      ...Object.values(TOKENS),
      QUOTE_SECRET,
      new URL(world.proxy.url).pathname.slice(1),
    ]
      .filter((secret) => secret !== '')
      .map((secret) => secret.toLowerCase())
  }

  /** @param options - Of its network, beside what payments need. */
  static async open(world: World, options: Partial<NetworkOptions> = {}): Promise<Market> {
    const own = kinds.flatMap(({ asset }) => asset ?? [])
    const assets = ['USDC', ...new Map(own.map((asset) => [asset.address, asset])).values()]
    const allowedFactories = [world.devnet.accountFactory]
    const network = { assets, allowedFactories, ...options } as NetworkOptions
    const processes = [await world.start({ network }), await world.start({ network })] as const
    return new Market(world, processes, new OpenApiValidator(await wholeDocument()))
  }

  /** Asks what a target costs. */
  async ask(target: Target): Promise<Asked> {
    const { cents, project } = target
    if (target.isApi) {
      const resourceUrl = 'https://shop.example/sold-by-api'
      const requirements = { resourceUrl, requestedAmount: cents / 100 }
      const asked = await this.#post('/api/v2/payment/requirements', requirements, project)
      const { accepts, ...others } = asked as PaymentRequired
      const { payTo } = accepts[0]!
      // The shop knows of maximums what a facilitator supports, and makes its offers itself.
      const metered = (await this.#askAt(METERED)).accepts.map((entry) => ({ ...entry, payTo }))
      return { ...others, accepts: [...accepts, ...metered], path: target.path }
    }
    return this.#askAt(target.path === '/pay/' ? await this.#link(cents) : target.path)
  }

  /** Who settles metered payments, which all offers of them name. */
  async facilitator(): Promise<Pick<Terms, 'facilitator'>> {
    this.#facilitator ??= this.#askAt(METERED).then(({ accepts }) => ({
      facilitator: accepts[0]!.extra!['facilitatorAddress'] as Hex,
    }))
    return this.#facilitator
  }

  async #askAt(path: string): Promise<Asked> {
    const { status, headers } = await send(this.#gateway.url, 'GET', { path, headers: [] })
    if (status !== 402) throw new Error(`${path} asks for a payment with ${status}`)
    return { ...decodeDocument<PaymentRequired>(String(headers['payment-required'])), path }
  }

  async #link(cents: number): Promise<string> {
    const amount = (cents / 100).toFixed(2)
    const made = await this.#post('/api/v2/merchant/checkouts', { amount, currency: 'USD' })
    return new URL((made as { url: string }).url).pathname
  }

  async #post(
    path: string,
    document: object,
    project: Target['project'] = 'shop',
  ): Promise<unknown> {
    const body = JSON.stringify(document)
    const headers = this.apiHeaders(project)
    const answer = await send(this.#gateway.url, 'POST', { path, headers, body })
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.body}`)
    return JSON.parse(answer.body)
  }

  /** Headers of a merchant's request. */
  apiHeaders(project: Target['project']): WireRequest['headers'] {
    return [
      ['Content-Type', 'application/json'],
      [PROJECT_TOKEN, TOKENS[project]],
    ]
  }

  /** Presents a payment, and judges the answer by itself. */
  async present(
    target: Target,
    authorization: string,
    { isSecond = false, ...request }: WireRequest & { readonly isSecond?: boolean },
  ): Promise<Told> {
    const visit = String(++this.#visits)
    const headers = [...request.headers, ['X-Test-Visit', visit] as const]
    const { url } = isSecond ? this.#second : this.#gateway
    const answer = await send(url, target.method, { ...request, headers })
    const { status } = answer
    const body = readJson(answer.body)
    const receipt = answer.headers['payment-response']
    const settled = typeof receipt === 'string' ? decodeDocument<Document>(receipt) : {}
    const isSuccess = status >= 200 && status < 300
    const isVerify = target.path.endsWith('/verify')
    const isSettle = target.path.endsWith('/settle')
    const isGood = isSuccess && (isVerify ? body.isValid : isSettle ? body.success : true) === true
    const delivered = isGood && !isVerify
    const transaction = (isSettle ? body : settled).transaction
    const path = isSettle ? 'settle' : isVerify ? 'verify' : request.path
    const told: Answer = {
      authorization,
      visit,
      path,
      status,
      delivered,
      hasKey: mayAskAgain(request),
      gaveUp: false,
      isFree: false,
      reason: isGood ? 'good' : reasonOf(body),
      ...(transaction && { transaction }),
      ...(delivered && { good: isSettle ? transaction : (body.good ?? `of ${path}`) }),
    }
    this.answers.push(told)
    const mistakes = [
      ...this.#undocumented(target, request, answer),
      ...this.#secretsIn(`${JSON.stringify(answer.headers)} ${answer.body}`),
    ]
    return { ...told, isGood, mistakes }
  }

  /** Secrets in what the gateway has logged. */
  leaksOfLog(): readonly string[] {
    return this.#secretsIn(this.#gateway.log() + this.#second.log()).map(
      (mistake) => `the log: ${mistake}`,
    )
  }

  /** What its process has in use, once everything else is thrown away. */
  async heapBytes(): Promise<number> {
    const { body } = await send(this.#gateway.url, 'GET', { path: '/heap', headers: [] })
    return (JSON.parse(body) as { bytes: number }).bytes
  }

  /** Visits whose handlers ran. */
  get handled(): ReadonlySet<string> {
    const visits = [...this.#gateway.visits, ...this.#second.visits]
    const ran = visits.filter(({ event }) => event === 'ran')
    return new Set(ran.map(({ visit }) => visit))
  }

  #secretsIn(text: string): string[] {
    const lower = text.toLowerCase()
    return this.#secrets
      .filter((secret) => lower.includes(secret))
      .map((secret) => `a secret is in it: ${secret.slice(0, 6)}…`)
  }

  /** The world is well: what fails is told by a documented code, or is a mistake. */
  #undocumented(target: Target, request: WireRequest, answer: WireAnswer): string[] {
    const { status, headers, body } = answer
    // Node itself refuses headers that are too long.
    if (status === 431) return []
    const type = String(headers['content-type'] ?? '').split(';', 1)[0]!
    if (target.isApi) {
      const { method } = target
      const requestBody = readJson(String(request.body ?? ''))
      const isRead = Object.keys(requestBody).length > 0
      const wrong = this.#validator.explain({
        ...{ method, path: request.path, status, type, body },
        ...(isRead && { requestBody }),
      })
      if (wrong !== undefined) return [`the OpenAPI document does not describe it: ${wrong}`]
    }
    if (status < 500) return []
    const code = readJson(body).code as ProblemCode | undefined
    const face: Face = target.isApi ? 'api' : 'route'
    const isDocumented = code !== undefined && STATUS[code]?.[face] === status
    return [`${isDocumented ? 'a failure' : 'an undocumented failure'}: ${status} ${body}`]
  }
}

/** Signs quotes of the gateway. */
export const QUOTE_SECRET = 'the quote secret of generated payments'

interface Document {
  readonly error?: string
  readonly code?: string
  readonly errorReason?: string
  readonly invalidReason?: string
  readonly isValid?: boolean
  readonly success?: boolean
  readonly transaction?: string
  readonly good?: string
}

function readJson(text: string): Document {
  try {
    return Object(JSON.parse(text)) as Document
  } catch {
    return {}
  }
}

function reasonOf({ invalidReason, errorReason, error, code }: Document): string {
  return invalidReason ?? errorReason ?? error ?? code ?? 'no reason'
}

/** Whether the same answer may be given to the same request again. */
function mayAskAgain({ headers, body }: WireRequest): boolean {
  const payments = headers.map(([, value]) => Buffer.from(value, 'base64').toString('latin1'))
  return (
    headers.some(([name]) => name === 'Idempotency-Key') ||
    [...payments, String(body ?? '')].some((text) => text.includes('payment-identifier'))
  )
}
