/** Compares real answers with the OpenAPI document, whose responses may then have no other members. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { adminEndpoints } from '../../src/api/admin/admin-api.js'
import { merchantEndpoints } from '../../src/api/admin/merchant-endpoints.js'
import { consoleEndpoints } from '../../src/api/session/mount-console.js'
import { docsEndpoints } from '../../src/api/docs/docs-api.js'
import { apiEndpoints } from '../../src/api/gateway-router.js'
import type { JsonSchema } from '../../src/api/openapi/components.js'
import { writeDocument, type OpenApiDocument } from '../../src/api/openapi/write-document.js'

/** An answer of a gateway, with what it answers. */
export interface Answered {
  readonly method: string
  /** Path below the gateway, with its query. */
  readonly path: string
  readonly requestBody?: unknown
  readonly status: number
  /** Without its parameters; empty without a body. */
  readonly type: string
  readonly body: string
  /** It was cut before its end. */
  readonly isCut?: boolean
}

/** The document of a gateway that has everything. */
export function wholeDocument(): Promise<OpenApiDocument> {
  const endpoints = [
    ...[...apiEndpoints, ...docsEndpoints, ...adminEndpoints],
    ...[...merchantEndpoints, ...consoleEndpoints],
  ]
  return writeDocument({ endpoints, hasProbes: true, hasSessions: true })
}

let whole: Promise<OpenApiValidator> | undefined

/** The validator of {@link wholeDocument}: made once in a process, since compiling its schemas takes a third of a second. */
export function wholeValidator(): Promise<OpenApiValidator> {
  whole ??= wholeDocument().then((document) => new OpenApiValidator(document))
  return whole
}

interface DescribedResponse {
  readonly $ref?: string
  readonly content?: Readonly<Record<string, object>>
}

interface DescribedOperation {
  readonly parameters?: readonly { readonly name?: string; readonly in?: string }[]
  readonly requestBody?: object
  readonly responses: Readonly<Record<string, DescribedResponse>>
}

/** Problems that paths and methods have which are not described. */
const UNDESCRIBED = new Set([400, 401, 403, 404, 405, 429])

/** Finds what answers have that the document does not describe. */
export class OpenApiValidator {
  readonly #document: OpenApiDocument
  readonly #ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true })
  readonly #patterns: readonly (readonly [path: string, pattern: RegExp])[]

  constructor(document: OpenApiDocument) {
    this.#document = closed(document)
    // oxlint-disable-next-line typescript/no-unsafe-call -- its types are those of CommonJS
    ;(formats as unknown as (ajv: Ajv2020) => void)(this.#ajv)
    this.#ajv.addSchema(this.#document, 'openapi')
    this.#patterns = Object.keys(document.paths)
      .toSorted((one, other) => placeholders(one) - placeholders(other))
      .map((path) => [path, patternOf(path)] as const)
  }

  /** As {@link OpenApiValidator.explain}, of the body of a webhook. */
  explainWebhook({ type, text }: { readonly type: string; readonly text: string }) {
    const parts = ['webhooks', type, 'post', 'requestBody', 'content', 'application/json', 'schema']
    return this.#mismatch(pointerOf(parts), { body: text })
  }

  /** @returns What is wrong, in words; `undefined` if the document describes the answer. */
  explain(answer: Answered): string | undefined {
    const { method, status, type } = answer
    const [path = ''] = answer.path.split('?', 1)
    const found = this.#patterns.find(([, pattern]) => pattern.test(path.replace(/\/$/, '')))?.[0]
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase()
    const operation =
      found && (this.#document.paths[found]?.[verb] as DescribedOperation | undefined)
    if (!found || !operation) {
      if (method === 'OPTIONS' && status === 204) return undefined
      if (!UNDESCRIBED.has(status)) return `is not described, and has status ${status}`
      return this.#mismatch('/components/schemas/ProblemDetails', answer)
    }
    const response = operation.responses[status]
    if (response === undefined) return `has status ${status}, which ${found} does not describe`
    const pointer =
      response.$ref?.slice(1) ?? pointerOf(['paths', found, verb, 'responses', status])
    return (
      this.#wrongBody(this.#at<DescribedResponse>(pointer), pointer, answer) ??
      (status < 300 && type !== '' ? this.#wrongRequest(operation, found, answer) : undefined)
    )
  }

  #wrongBody(
    { content }: DescribedResponse,
    pointer: string,
    answer: Answered,
  ): string | undefined {
    const { method, type, body, status } = answer
    if (method === 'HEAD' || status === 304) return undefined
    if (content === undefined) return body === '' ? undefined : 'has a body that is not described'
    if (type === '' || !(type in content)) {
      if ('application/octet-stream' in content) return undefined
      return `is ${type || 'without a type'}, not ${Object.keys(content).join(', ')}`
    }
    const media = `${pointer}/content/${escaped(type)}`
    if (!type.endsWith('json') || answer.isCut) return undefined
    return this.#mismatch(`${media}/schema`, answer)
  }

  /** What was taken must be described as allowed. */
  #wrongRequest(operation: DescribedOperation, path: string, answer: Answered): string | undefined {
    const known = (operation.parameters ?? []).filter((one) => one.in === 'query')
    const given = new URLSearchParams(answer.path.split('?')[1] ?? '')
    for (const name of given.keys())
      if (name !== '_' && !known.some((one) => one.name === name))
        return `takes the parameter ${name}, which is not described`
    if (operation.requestBody === undefined || answer.requestBody === undefined) return undefined
    // Other versions of x402 have other bodies, and are told so whatever they look like.
    if (answer.body.includes('"invalid_x402_version"')) return undefined
    const verb = answer.method.toLowerCase()
    const body = pointerOf([
      'paths',
      path,
      verb,
      'requestBody',
      'content',
      'application/json',
      'schema',
    ])
    const wrong = this.#mismatch(body, { body: JSON.stringify(answer.requestBody) })
    return wrong && `takes a body that is not as described: it ${wrong}`
  }

  #mismatch(pointer: string, { body }: Pick<Answered, 'body'>): string | undefined {
    const validate = this.#ajv.getSchema(`openapi#${pointer}`) as ValidateFunction | undefined
    if (validate === undefined) throw new Error(`There is no ${pointer}.`)
    let parsed: unknown
    try {
      parsed = JSON.parse(body)
    } catch {
      return `is no JSON: ${body.slice(0, 200)}`
    }
    if (validate(parsed)) return undefined
    return `does not fit ${pointer}: ${this.#ajv.errorsText(validate.errors)}`
  }

  #at<T>(pointer: string): T {
    const steps = pointer.split('/').slice(1).map(unescaped)
    return steps.reduce<unknown>(
      (part, step) => (part as Readonly<Record<string, unknown>>)[step],
      this.#document,
    ) as T
  }
}

/** Takes from the schemas of responses what they leave open for later versions. */
function closed(document: OpenApiDocument): OpenApiDocument {
  const { schemas, ...components } = document.components
  const { ProblemDetails, ...others } = close(schemas) as typeof schemas
  return {
    ...document,
    components: {
      ...components,
      // Of any problem: its own schema closes it.
      schemas: { ...others, ProblemDetails: schemas['ProblemDetails'] ?? ProblemDetails! },
    },
  }
}

function close(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(close)
  if (typeof part !== 'object' || part === null) return part
  const schema = Object.fromEntries(
    Object.entries(part as JsonSchema).map(([keyword, value]) => [keyword, close(value)]),
  )
  const isOpen = schema['type'] === 'object' && !('additionalProperties' in schema)
  return isOpen && 'properties' in schema ? { ...schema, additionalProperties: false } : schema
}

const placeholders = (path: string): number => path.split('{').length

function patternOf(path: string): RegExp {
  const parts = path.split(/\{\w+\}/).map((part) => part.replaceAll('.', String.raw`\.`))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}

const pointerOf = (steps: readonly (string | number)[]): string =>
  steps.map((step) => `/${escaped(String(step))}`).join('')

/** A part of a JSON pointer, in a URI. */
const escaped = (step: string): string =>
  encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))

const unescaped = (step: string): string =>
  decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
