import { STATUS_CODES } from 'node:http'
import { STATUS } from '../../http/problem-status.js'
import { referenceTo } from './components.js'
import type { Operation, OperationProblem, ResponseHeader } from './operation.js'
import { codeOf, PROBLEM_TEXTS, problemSchema } from './problems.js'

/** The responses that are problems. What many operations have in common is written once. */
export class ProblemResponses {
  /** By their text: their names and what they are. */
  readonly #known = new Map<string, { readonly name: string; readonly response: object }>()

  /** The problems of an operation, by their status. Those of one status are told apart by `code`. */
  of({ problems }: Operation): Readonly<Record<string, object>> {
    const byStatus = new Map<number, Map<string, OperationProblem>>()
    for (const problem of problems) {
      const code = codeOf(problem)
      const status = STATUS[code].api
      const same = byStatus.get(status) ?? new Map<string, OperationProblem>()
      // One with members of its own comes instead of the plain one.
      if (typeof problem !== 'string' || !same.has(code)) same.set(code, problem)
      byStatus.set(status, same)
    }
    return Object.fromEntries(
      [...byStatus].map(([status, same]) => [status, this.#refer(status, [...same.values()])]),
    )
  }

  /** All responses, by their names. */
  all(): Readonly<Record<string, object>> {
    const named = [...this.#known.values()].map(({ name, response }) => [name, response] as const)
    return Object.fromEntries(named)
  }

  #refer(status: number, problems: readonly OperationProblem[]): object {
    const response = responseOf(status, problems)
    const text = JSON.stringify(response)
    const prefix = `Problems${status}_`
    const others = [...this.#known.values()].filter(({ name }) => name.startsWith(prefix))
    const name = this.#known.get(text)?.name ?? `${prefix}${others.length + 1}`
    this.#known.set(text, { name, response })
    return { $ref: `#/components/responses/${name}` }
  }
}

function responseOf(status: number, problems: readonly OperationProblem[]): object {
  const lines = problems.map((problem) => {
    const code = codeOf(problem)
    return `- \`${code}\`: ${PROBLEM_TEXTS[code]}`
  })
  const schemas = problems.map((problem) => referenceTo(problemSchema(problem)))
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
