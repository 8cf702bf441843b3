/** The OpenAPI document, as far as the page shows it. */

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly examples?: readonly unknown[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
}

export interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly example?: unknown
  readonly schema?: Schema
}

export interface Media {
  readonly schema?: Schema
  readonly example?: unknown
}

export interface ResponseInfo {
  readonly $ref?: string
  readonly description: string
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: Readonly<Record<string, Media>>
}

export interface OperationInfo {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly security?: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, ResponseInfo>>
}

/** An operation, with where it is. */
export interface Operation extends OperationInfo {
  readonly method: string
  readonly path: string
  /** Root of its path, if that is not the gateway's. */
  readonly server?: string | undefined
}

interface PathItem {
  readonly servers?: readonly { readonly url: string }[]
  readonly [method: string]: unknown
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const METHODS = ['get', 'post', 'patch', 'delete']

/** All operations, in the order of the document. */
export function operationsOf({ paths }: ApiDocument): readonly Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => ({
      ...(item[method] as OperationInfo),
      method: method.toUpperCase(),
      path,
      server: item.servers?.[0]?.url,
    })),
  )
}

/** What a part refers to, or the part itself. */
export function resolve<T extends { readonly $ref?: string }>(document: ApiDocument, part: T): T {
  if (part.$ref === undefined) return part
  const [, kind = '', name = ''] = /^#\/components\/([^/]+)\/([^/]+)$/.exec(part.$ref) ?? []
  return (document.components[kind]?.[name] ?? part) as T
}

/** The name of what a part refers to. */
export function nameOf({ $ref }: { readonly $ref?: string }): string | undefined {
  return $ref?.split('/').at(-1)
}
