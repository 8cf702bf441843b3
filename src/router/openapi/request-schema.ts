/**
 * Makes the schemas of requests: from the zod schemas that read them, and from what those cannot say.
 *
 * Each member is described here or nowhere: a description without its member, and a member without its
 * description, throw.
 */
import { z } from 'zod'
import type { KnownMembers } from '../../protocol/strict-document.js'
import { isLimitOfNumbers } from './components.js'
import type { JsonSchema, Parameter } from './operation.js'

/** What is said of a member. */
export interface About {
  readonly description: string
  readonly examples?: readonly unknown[]
  /** Its form, where it is read by a function of our own. */
  readonly schema?: JsonSchema
  /** Whether it must be there, where the schema does not say. */
  readonly required?: boolean
  /** Those of its own members that are read. */
  readonly members?: Abouts
}

/** What is said of members, by their names. */
export type Abouts = Readonly<Record<string, About>>

/**
 * The schema of a body.
 *
 * @param schema - Reads the body.
 * @param known - The members that are known and tolerated, where others are refused.
 */
export function bodySchema(schema: z.ZodType, abouts: Abouts, known?: KnownMembers): JsonSchema {
  const body = describe(inputOf(schema), abouts)
  if (known === undefined) return body
  requireSame(Object.keys(abouts), known.known)
  const tolerated = known.tolerated.map((name) => [name, TOLERATED] as const)
  const properties = { ...(body['properties'] as object), ...Object.fromEntries(tolerated) }
  return { ...body, properties, additionalProperties: false }
}

const TOLERATED = {
  description: 'Written by x402 clients on top of every document; not read.',
}

/** The parameters of a query. `_`, by which some clients evade caches, is tolerated everywhere. */
export function queryParameters(
  schema: z.ZodType,
  abouts: Abouts,
  known: KnownMembers,
): readonly Parameter[] {
  requireSame(Object.keys(abouts), known.known)
  const { properties } = describe(inputOf(schema), abouts) as {
    readonly properties: Readonly<Record<string, JsonSchema>>
  }
  return Object.entries(properties).map(([name, { description, ...form }]) => ({
    name,
    description: String(description),
    schema: form,
  }))
}

function inputOf(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...input } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
  }) as JsonSchema
  const [first] = (input['allOf'] ?? []) as readonly JsonSchema[]
  // Of an intersection, the second part is read by a function.
  return first ?? input
}

function describe(schema: JsonSchema, abouts: Abouts): JsonSchema {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, JsonSchema>>
    readonly required?: readonly string[]
  }
  const unread = Object.keys(properties).filter((name) => !(name in abouts))
  if (unread.length > 0) throw new Error(`These members have no description: ${unread.join(', ')}.`)
  const described = Object.entries(abouts).map(([name, about]) => {
    const given = about.schema ?? properties[name]
    if (given === undefined) throw new Error(`There is no member '${name}' to describe.`)
    const { description, examples, members } = about
    const form = members === undefined ? plain(given) : describe(given, members)
    return [name, { ...form, description, ...(examples && { examples }) }] as const
  })
  const named = Object.entries(abouts).filter(([, about]) => about.required === true)
  const needed = new Set([...required, ...named.map(([name]) => name)])
  const isOptional = (name: string): boolean => abouts[name]?.required === false
  return {
    type: 'object',
    properties: Object.fromEntries(described),
    ...(needed.size > 0 && { required: [...needed].filter((name) => !isOptional(name)) }),
  }
}

/** A form without the patterns that spell out what `format` says, and without what every form has. */
function plain(schema: JsonSchema): JsonSchema {
  const { propertyNames: _names, ...keywords } = schema
  const said = Object.entries(keywords).filter(
    ([keyword, value]) =>
      !(keyword === 'pattern' && 'format' in schema) && !isLimitOfNumbers(value),
  )
  const form: JsonSchema = Object.fromEntries(said)
  const choices = form['anyOf'] as readonly JsonSchema[] | undefined
  return choices === undefined ? form : { ...form, anyOf: choices.map(plain) }
}

function requireSame(described: readonly string[], known: readonly string[]): void {
  const [one, other] = [described.toSorted().join(', '), known.toSorted().join(', ')]
  if (one !== other) throw new Error(`Described are ${one}; known are ${other}.`)
}
