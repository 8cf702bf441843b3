/** JSON Schema: from zod and back, and inside other documents. */
import { z } from 'zod'
import { isObject } from '../../shared/protocol/document.js'

export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/** Type guard for a schema of zod 4, of any copy of it. @throws `Error` for one of zod 3 */
export function isZodSchema(value: object): value is z.ZodType {
  if ('_zod' in value) return true
  if ('_def' in value)
    throw new Error('it is a schema of zod 3: write it with zod 4, or as JSON Schema')
  return false
}

export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
  })
  return json
}

/** Keywords that describe, and check nothing. */
const DESCRIBES = /^(?:\$.*|x-.*|title|description|examples?|deprecated)$/

/** A zod schema that checks what a JSON Schema says. @throws `Error` for keywords that it does not know */
export function fromJsonSchema(schema: JsonSchema): z.ZodType {
  let hasZod = false
  JSON.stringify(schema, (_name, part: unknown) => {
    hasZod ||= isObject(part) && isZodSchema(part)
    return part
  })
  const read = z.fromJSONSchema(schema)
  const checks = read.type !== 'any' || Object.keys(schema).every((name) => DESCRIBES.test(name))
  if (checks && !hasZod) return read
  throw new Error(
    "it is neither a schema of zod nor JSON Schema, and checks nothing: write z.object({ city: z.string() }), or { type: 'object', properties: { city: { type: 'string' } } }",
  )
}

/** A schema as a part of another document, at a JSON pointer: its references to itself stay right. */
export function embedded(schema: JsonSchema, pointer: string): JsonSchema {
  return moved(schema, pointer) as JsonSchema
}

function moved(part: unknown, pointer: string): unknown {
  if (Array.isArray(part)) return part.map((one) => moved(one, pointer))
  if (typeof part !== 'object' || part === null) return part
  return Object.fromEntries(
    Object.entries(part)
      .filter(([keyword]) => keyword !== '$schema')
      .map(([keyword, value]) => {
        const isReference = keyword === '$ref' && typeof value === 'string' && value.startsWith('#')
        return [keyword, isReference ? `#${pointer}${value.slice(1)}` : moved(value, pointer)]
      }),
  )
}

export function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const { properties } = schema
  return typeof properties === 'object' && properties !== null
    ? (properties as Readonly<Record<string, JsonSchema>>)
    : {}
}
