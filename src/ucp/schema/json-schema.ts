/** A JSON schema (draft 2020-12), limited to the keywords that our documents use. */
export interface JsonSchema {
  readonly title?: string
  readonly description?: string
  readonly type?: string
  readonly const?: unknown
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly $ref?: string
  readonly [keyword: string]: unknown
}

/** Schemas, by their names under `$defs`. */
export type Definitions = Readonly<Record<string, JsonSchema>>

/** Refers to a definition of the same document. */
export function definition(name: string, description?: string): JsonSchema {
  return { $ref: `#/$defs/${name}`, ...(description !== undefined && { description }) }
}
