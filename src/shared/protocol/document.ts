/** Parses documents: a value of the right shape, or all its mistakes. */
import type { z } from 'zod'
import { suggestName } from './did-you-mean.js'

export interface DocumentError {
  /** Dotted path of the member, `""` for the document itself. */
  readonly path: string
  /** What it must be; never its value, which may be a secret. */
  readonly message: string
}

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errors: readonly DocumentError[] }

export function parseDocument<T>(schema: z.ZodType<T>, value: unknown): Parsed<T> {
  return withoutIssues(parseWithIssues(schema, value))
}

/**
 * Parses a document by a schema of the app's own, whose checks may be asynchronous.
 *
 * @param abortEarly - Finds the first mistake of each list alone: thousands take seconds.
 */
export async function parseDocumentAsync<T>(
  schema: z.ZodType<T>,
  value: unknown,
  { abortEarly }: { readonly abortEarly: boolean },
): Promise<Parsed<T>> {
  const context = { ...CONTEXT, abortEarly }
  return withoutIssues(readResult(await schema.safeParseAsync(value, context), 'member'))
}

function withoutIssues<T>(result: ParsedWithIssues<T>): Parsed<T> {
  if (result.ok) return result
  return { ok: false, errors: result.issues.map(({ path, message }) => ({ path, message })) }
}

export interface DocumentIssue extends DocumentError {
  /** Contains the value, which may be a secret. */
  readonly issue: z.core.$ZodIssue
}

type Noun = 'member' | 'option'

type ParsedWithIssues<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly DocumentIssue[] }

/** Like {@link parseDocument}, for callers that classify mistakes. */
export function parseWithIssues<T>(
  schema: z.ZodType<T>,
  value: unknown,
  noun: Noun = 'member',
): ParsedWithIssues<T> {
  return readResult(schema.safeParse(value, CONTEXT), noun)
}

function readResult<T>(result: z.ZodSafeParseResult<T>, noun: Noun): ParsedWithIssues<T> {
  if (result.success) return { ok: true, value: result.data }
  return {
    ok: false,
    issues: result.error.issues.flatMap((issue) => errorsOf(issue, { path: [], noun })),
  }
}

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
}

const explain: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is missing'
      return `must be ${NOUNS[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${issue.values.map((value) => showLiteral(value)).join(' or ')}`
    case 'too_small':
      if (issue.origin === 'array') return 'must not be empty'
      return sized(issue, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
    case 'too_big':
      return sized(issue, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    case 'invalid_union':
      // Filled in by `alternativesOf`, unless the schema has its own message.
      return ''
    case 'unrecognized_keys':
      // Parsed by `errorsOf`, which handles unknown members one by one.
      return namesIn(issue.inst).join(',')
    default:
      return undefined
  }
}

/** Units of lengths, by type. */
const COUNTED: Readonly<Record<string, string>> = { string: 'characters', array: 'entries' }

function sized({ origin }: { origin: string }, bound: string, size: number | bigint): string {
  const counted = COUNTED[origin]
  return counted === undefined
    ? `must be ${bound} ${size}`
    : `must have ${bound} ${size} ${counted}`
}

const CONTEXT = { error: explain, reportInput: true } as const

const showLiteral = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : String(value)

function namesIn(schema: unknown): readonly string[] {
  return Object.keys((schema as { shape?: object } | undefined)?.shape ?? {})
}

interface Place {
  readonly path: readonly PropertyKey[]
  readonly noun: Noun
}

function errorsOf(issue: z.core.$ZodIssue, parent: Place): readonly DocumentIssue[] {
  const { noun } = parent
  const path = [...parent.path, ...issue.path]
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => {
        const suggestion = issue.message && `; ${suggestName(key, issue.message.split(','))}`
        return issueAt([...path, key], `there is no such ${noun}${suggestion}`, issue)
      })
    case 'invalid_union':
      return alternativesOf(issue, { path, noun })
    default:
      return [issueAt(path, issue.message, issue)]
  }
}

/** Mistakes of the alternative that was meant, if its outer shape shows which one: that with the fewest. */
function alternativesOf(
  issue: z.core.$ZodIssueInvalidUnion,
  place: Place,
): readonly DocumentIssue[] {
  const { errors, message } = issue
  const [meant] = errors
    .filter((issues) =>
      issues.every((one) => one.path.length > 0 || one.code === 'unrecognized_keys'),
    )
    .map((issues) => issues.flatMap((one) => errorsOf(one, place)))
    .toSorted((one, other) => one.length - other.length)
  if (meant !== undefined) return meant
  const messages = errors.flatMap((issues) => issues.map((one) => one.message))
  return [issueAt(place.path, message || messages.join(', or '), issue)]
}

function issueAt(
  path: readonly PropertyKey[],
  message: string,
  issue: z.core.$ZodIssue,
): DocumentIssue {
  return { path: path.join('.'), message, issue }
}

export const MAX_NESTING = 64

/**
 * Counts the members of a document, on all levels. Recursive code, `JSON.stringify` included, fails at some depth; this
 * does not recurse.
 *
 * @param most - Stops beyond so many.
 * @returns Infinity for one that is nested beyond {@link MAX_NESTING}.
 */
export function countMembers(document: unknown, most = Infinity): number {
  let count = 0
  let level: readonly unknown[] = [document]
  for (let depth = 0; level.length > 0 && count <= most; depth++) {
    if (depth > MAX_NESTING) return Infinity
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) continue
      const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
      count += members.length
      for (const member of members)
        if (typeof member === 'object' && member !== null) next.push(member)
    }
    level = next
  }
  return count
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The members of what may be no object. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}
