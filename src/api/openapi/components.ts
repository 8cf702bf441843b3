/** The schemas that the OpenAPI document names: what responses contain. */
import { z } from 'zod'
import { components } from '../documents/component.js'

/** A schema of JSON Schema, draft 2020-12. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/** The reference to a named schema, or the schema itself where it has no name. */
export function referenceTo(schema: z.ZodType): JsonSchema {
  const id = components.get(schema)?.id
  if (id !== undefined) return { $ref: uriOf(id) }
  return openObjects(z.toJSONSchema(schema, { unrepresentable: 'any' }) as JsonSchema)
}

export function componentSchemas(): Readonly<Record<string, JsonSchema>> {
  const { schemas } = z.toJSONSchema(components, { uri: uriOf, unrepresentable: 'any' })
  return Object.fromEntries(
    Object.entries(schemas).map(([id, schema]) => [id, openObjects(schema as JsonSchema)]),
  )
}

/**
 * Lets objects have members that the schema does not know: a later version may add some, and clients
 * that are generated from the document must not break. The tests close them again.
 */
function openObjects(schema: JsonSchema): JsonSchema {
  const { $schema: _dialect, $id: _id, ...keywords } = schema
  const entries = Object.entries(keywords).filter(
    ([keyword, value]) =>
      !(keyword === 'additionalProperties' && value === false) && !isLimitOfNumbers(value),
  )
  return Object.fromEntries(entries.map(([keyword, value]) => [keyword, openValue(value)]))
}

function openValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(openValue)
  return typeof value === 'object' && value !== null ? openObjects(value as JsonSchema) : value
}

/** The limit of integers that JavaScript holds exactly: zod writes it where a schema has none. */
export function isLimitOfNumbers(value: unknown): boolean {
  return value === Number.MAX_SAFE_INTEGER || value === Number.MIN_SAFE_INTEGER
}

function uriOf(id: string): string {
  return `#/components/schemas/${id}`
}
