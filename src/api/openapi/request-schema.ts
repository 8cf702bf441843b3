/** Writes the schemas of requests: from the zod schemas that read them, and from what `meta` says of their members. */
import { z } from 'zod'
import { shapeOf, type RequestBody } from '../serve/define-endpoint.js'
import { isLimitOfNumbers, type JsonSchema } from './components.js'

export interface Parameter {
  readonly name: string
  readonly description: string
  readonly schema: JsonSchema
}

/** Metadata of a member (`meta`). */
interface About {
  readonly description?: string
  readonly examples?: readonly unknown[]
  /** Its form, where it is read by a function of our own. */
  readonly as?: JsonSchema
  /** It must be there, although another part of the schema says so. */
  readonly isRequired?: boolean
}

const TOLERATED = {
  description: 'Written by x402 clients on top of every document; not read.',
}

export function bodySchema({ schema, version1, tolerates = [] }: RequestBody): JsonSchema {
  const body = describe(shapeOf(schema))
  if (version1 !== undefined) return { anyOf: [body, describe(version1.shape)] }
  if (tolerates === 'any') return body
  const tolerated = tolerates.map((name) => [name, TOLERATED] as const)
  const properties = { ...(body['properties'] as object), ...Object.fromEntries(tolerated) }
  return { ...body, properties, additionalProperties: false }
}

export function queryParameters(schema: z.ZodObject): readonly Parameter[] {
  const { properties } = describe(schema.shape) as { readonly properties: object }
  return Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(
    ([name, { description, ...form }]) => ({
      name,
      description: String(description),
      schema: form,
    }),
  )
}

function describe(shape: z.ZodRawShape): JsonSchema {
  const { properties = {}, required: needed = [] } = z.toJSONSchema(z.object(shape), {
    io: 'input',
    unrepresentable: 'any',
  }) as { properties?: Readonly<Record<string, JsonSchema>>; required?: readonly string[] }
  const members = Object.entries(shape as Readonly<Record<string, z.ZodType>>)
  const described = members.map(([name, member]) => {
    const { description, examples, as } = aboutOf(member)
    const form = as ?? (member instanceof z.ZodObject ? describe(member.shape) : undefined)
    return [
      name,
      { ...(form ?? plain(properties[name]!)), description, ...(examples && { examples }) },
    ] as const
  })
  const named = members.filter(([, member]) => aboutOf(member).isRequired === true)
  const required = [...needed, ...named.map(([name]) => name)]
  return {
    type: 'object',
    properties: Object.fromEntries(described),
    ...(required.length > 0 && { required }),
  }
}

function aboutOf(member: z.ZodType): About {
  const about = member.meta() as About | undefined
  if (about !== undefined) return about
  return member instanceof z.ZodOptional ? aboutOf(member.unwrap() as z.ZodType) : {}
}

/** A form without the patterns that spell out what `format` says, and without what every form has. */
function plain(schema: JsonSchema): JsonSchema {
  const { propertyNames: _names, description: _words, examples: _values, ...keywords } = schema
  const said = Object.entries(keywords).filter(
    ([keyword, value]) =>
      !(keyword === 'pattern' && 'format' in schema) && !isLimitOfNumbers(value),
  )
  const form: JsonSchema = Object.fromEntries(said)
  const choices = form['anyOf'] as readonly JsonSchema[] | undefined
  return choices === undefined ? form : { ...form, anyOf: choices.map(plain) }
}
