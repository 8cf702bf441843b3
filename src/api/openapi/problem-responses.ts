import { STATUS_CODES } from 'node:http'
import { STATUS } from '../../shared/http/problem-status.js'
import { referenceTo } from './components.js'
import type { Access, Description, EndpointProblem } from '../serve/define-endpoint.js'
import type { ResponseHeader } from '../serve/fixed-parts.js'
import { codeOf, PROBLEM_TEXTS, problemSchema } from './problems.js'

/** The responses that are problems. What many endpoints have in common is written once. */
export class ProblemResponses {
  /** By their text: their names and what they are. */
  readonly #known = new Map<string, { readonly name: string; readonly response: object }>()

  /** The problems of an endpoint, by their status. Those of one status are told apart by `code`. */
  async of(endpoint: Description): Promise<Readonly<Record<string, object>>> {
    const byStatus = new Map<number, Map<string, EndpointProblem>>()
    for (const problem of problemsOf(endpoint)) {
      const code = codeOf(problem)
      const status = STATUS[code].api
      const same = byStatus.get(status) ?? new Map<string, EndpointProblem>()
      // One with members of its own comes instead of the plain one.
      if (typeof problem !== 'string' || !same.has(code)) same.set(code, problem)
      byStatus.set(status, same)
    }
    const responses: Record<string, object> = {}
    for (const [status, same] of byStatus)
      responses[status] = await this.#refer(status, [...same.values()])
    return responses
  }

  /** All responses, by their names. */
  all(): Readonly<Record<string, object>> {
    const named = [...this.#known.values()].map(({ name, response }) => [name, response] as const)
    return Object.fromEntries(named)
  }

  async #refer(status: number, problems: readonly EndpointProblem[]): Promise<object> {
    const response = await responseOf(status, problems)
    const text = JSON.stringify(response)
    const prefix = `Problems${status}_`
    const others = [...this.#known.values()].filter(({ name }) => name.startsWith(prefix))
    const name = this.#known.get(text)?.name ?? `${prefix}${others.length + 1}`
    this.#known.set(text, { name, response })
    return { $ref: `#/components/responses/${name}` }
  }
}

/** Every endpoint below `/api/v2`, `/ucp` and `/console`. */
const ALWAYS = ['invalid_request', 'rate_limited', 'internal_error', 'shutting_down'] as const

const OF_PROJECT = [
  'unauthorized',
  'forbidden',
  'merchant_not_configured',
  'ledger_unavailable',
] as const
const OF_SESSION = ['unauthorized', 'cross_origin', 'ledger_unavailable'] as const

/** Problems of those who may call an endpoint. The cookie of a session may come from another origin. */
const OF_ACCESS: Readonly<Record<Access, readonly EndpointProblem[]>> = {
  anyone: [],
  project: OF_PROJECT,
  merchant: [...OF_PROJECT, 'cross_origin'],
  admin: [...OF_SESSION, 'forbidden'],
  session: OF_SESSION,
}

const WITH_BODY = ['invalid_json', 'payload_too_large', 'unsupported_media_type'] as const
const WITH_KEY = ['idempotency_conflict', 'idempotency_in_progress'] as const

/** The problems of an endpoint: those that follow from what it takes, and its own. */
function problemsOf(endpoint: Description): readonly EndpointProblem[] {
  const { tag, access, params, body, headers = [], problems = [] } = endpoint
  // The probes have no limits, and answer also when nothing else does.
  if (tag === 'Probes') return problems
  return [
    ...ALWAYS,
    ...OF_ACCESS[access],
    ...(params ? (['not_found'] as const) : []),
    ...(body ? WITH_BODY : []),
    ...(headers.includes('Idempotency-Key') ? WITH_KEY : []),
    ...problems,
  ]
}

async function responseOf(status: number, problems: readonly EndpointProblem[]): Promise<object> {
  const lines = problems.map((problem) => {
    const code = codeOf(problem)
    return `- \`${code}\`: ${PROBLEM_TEXTS[code]}`
  })
  const schemas = (await Promise.all(problems.map(problemSchema))).map(referenceTo)
  const schema = schemas.length === 1 ? schemas[0] : { oneOf: schemas }
  return {
    description: `${STATUS_CODES[status]}\n\n${lines.join('\n')}`,
    headers: headersOf(headersOfStatus(status)),
    content: { 'application/problem+json': { schema } },
  }
}

function headersOfStatus(status: number): readonly ResponseHeader[] {
  if (status === 401) return ['WWW-Authenticate']
  return status === 429 || status === 502 || status === 503 ? ['Retry-After'] : []
}

/** The headers of a response, with those that all have. */
export function headersOf(names: readonly ResponseHeader[]): object {
  const all = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy', ...names]
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
