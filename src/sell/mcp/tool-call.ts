/** A call of a paid tool, as the gateway sees it. */
import type { Request } from 'express'
import { X_PAYMENT, PAYMENT_SIGNATURE } from '../../shared/protocol/headers.js'
import { AUTHORIZATION } from '../../shared/protocol/mpp.js'
import { countMembers, MAX_NESTING, membersOf } from '../../shared/protocol/document.js'
import { world } from '../../shared/world.js'
import { bodyFingerprint } from '../route/body-fingerprint.js'
import type { RequestView } from '../route/request-view.js'

/** The second argument of the SDK's handlers: generation 1 has its members on top, generation 2 in `mcpReq`. */
export interface HandlerExtra extends RequestExtra {
  readonly sessionId?: string | undefined
  readonly mcpReq?: RequestExtra | undefined
}

interface RequestExtra {
  readonly signal?: AbortSignal | undefined
  readonly _meta?: Members | undefined
  /** Members of `_meta` that generation 2 keeps from handlers. */
  readonly envelope?: Members | undefined
}

type Members = Readonly<Record<string, unknown>>

/** Members of `_meta` that present a payment, by the header which they take the place of. */
const PAYMENT_MEMBERS: ReadonlyMap<string, string> = new Map([
  [PAYMENT_SIGNATURE, 'x402/payment'],
  [X_PAYMENT, 'x402.payment'],
  [AUTHORIZATION, 'org.paymentauth/credential'],
])

/** Stands for a payment that is nested too deeply to be written as JSON. */
const TOO_DEEP = '['.repeat(MAX_NESTING + 2) + ']'.repeat(MAX_NESTING + 2)

/** The first version of MCP with extensions that are negotiated by request (an ISO date). */
const MODERN = '2026-07-28'

const VERSION_MEMBER = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES_MEMBER = 'io.modelcontextprotocol/clientCapabilities'

/** x402's extension of MCP, which client and server name to each other. */
export const EXTENSION = 'org.x402/payment'

export class ToolCall implements RequestView {
  readonly method = 'tools/call'
  readonly origin = ''
  readonly mount = ''
  readonly isRead = true
  readonly argumentsHash: string | undefined
  /** Without a session, no two calls are known to come from the same client. */
  readonly ip: string
  readonly #meta: Members
  readonly #envelope: Members

  constructor(
    readonly path: string,
    readonly body: unknown,
    readonly extra: HandlerExtra,
  ) {
    const { _meta, envelope } = extra.mcpReq ?? extra
    this.#meta = _meta ?? {}
    this.#envelope = { ..._meta, ...envelope }
    this.argumentsHash = bodyFingerprint(this)
    this.ip = extra.sessionId ?? world.randomUUID()
  }

  /** With the arguments, as a URL has its query. */
  get url() {
    return `${this.path}?${this.argumentsHash}`
  }

  get route() {
    return this.path
  }

  get soldAt() {
    return this.path
  }

  /** For the functions of {@link declareTool} alone, which know that it is no request of Express. */
  get req() {
    return this as unknown as Request
  }

  get signal(): AbortSignal | undefined {
    return (this.extra.mcpReq ?? this.extra).signal
  }

  /** Whether its client knows results whose structured content does not fit the tool's schema. */
  get isModern(): boolean {
    const version = this.#envelope[VERSION_MEMBER]
    return typeof version === 'string' && version >= MODERN
  }

  get speaksExtension(): boolean {
    const capabilities = membersOf(this.#envelope[CAPABILITIES_MEMBER])
    return this.isModern && Object.hasOwn(membersOf(capabilities['extensions']), EXTENSION)
  }

  /** A payment in base64, however its client has sent it. */
  header(name: string): string | undefined {
    const member = PAYMENT_MEMBERS.get(name)
    const payment = member && this.#meta[member]
    if (payment === undefined || typeof payment === 'string') return payment
    const isDeep = countMembers(payment) === Infinity
    return Buffer.from(isDeep ? TOO_DEEP : JSON.stringify(payment)).toString('base64')
  }

  get credentials(): readonly string[] {
    const credential = this.header(AUTHORIZATION)
    return credential === undefined ? [] : [credential]
  }

  placeOf(header: string): string {
    return `member ${PAYMENT_MEMBERS.get(header)} of _meta`
  }
}

/** Removes the payment from the second argument of handlers, as `hide-payment.ts` does from requests. */
export function withoutPayment(extra: HandlerExtra): HandlerExtra {
  const payments = [...PAYMENT_MEMBERS.values()]
  const strip = (request: RequestExtra): RequestExtra => {
    const members = Object.entries(request._meta ?? {})
    const others = members.filter(([name]) => !payments.includes(name))
    return { ...request, ...(request._meta && { _meta: Object.fromEntries(others) }) }
  }
  return { ...strip(extra), ...(extra.mcpReq && { mcpReq: strip(extra.mcpReq) }) }
}
