/** Reading documents: a value of the right shape, or everything that is wrong with it. */
import type { z } from 'zod'

/** What is wrong with one member of a document. */
export interface DocumentError {
  /** Dotted path of the member, `""` for the document itself. */
  readonly path: string
  /** What it must be; never what it was, which may be a secret. */
  readonly message: string
}

/** A document, or everything that is wrong with it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errors: readonly DocumentError[] }

/** Reads a document by a schema. */
export function parseDocument<T>(schema: z.ZodType<T>, value: unknown): Parsed<T> {
  const result = schema.safeParse(value, { error: explain })
  if (result.success) return { ok: true, value: result.data }
  return { ok: false, errors: result.error.issues.flatMap((issue) => errorsOf(issue, [])) }
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
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`
    case 'too_small':
      return issue.origin === 'array' ? 'must not be empty' : `must be at least ${issue.minimum}`
    case 'too_big':
      return `must be at most ${issue.maximum}`
    default:
      return undefined
  }
}

type Path = readonly PropertyKey[]

function errorsOf(issue: z.core.$ZodIssue, parent: Path): readonly DocumentError[] {
  const path = [...parent, ...issue.path]
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => error([...path, key], 'there is no such member'))
    case 'invalid_union':
      return alternativesOf(issue, path)
    default:
      return [error(path, issue.message)]
  }
}

/** What is wrong with the alternative that was meant, where its outer shape shows which one. */
function alternativesOf(
  { errors, message }: z.core.$ZodIssueInvalidUnion,
  path: Path,
): readonly DocumentError[] {
  const meant = errors.find((issues) =>
    issues.every((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys'),
  )
  if (meant !== undefined) return meant.flatMap((issue) => errorsOf(issue, path))
  const messages = errors.flatMap((issues) => issues.map((issue) => issue.message))
  return [error(path, messages.join(', or ') || message)]
}

function error(path: Path, message: string): DocumentError {
  return { path: path.join('.'), message }
}
