/** Pieces of Markdown. */
import type { Definitions, JsonSchema } from '../schema/json-schema.js'

/** Columns that text keeps to. */
const WIDTH = 100

/** Columns that an object may fill on one line. */
const JSON_WIDTH = 80

/** Puts parts under each other. */
export function stack(...parts: readonly string[]): string {
  return parts.map((part) => part.trim()).join('\n\n')
}

/** Breaks a paragraph into lines; the words of a code span stay together. */
export function wrap(text: string): string {
  const words = text.match(/(`[^`]*`|\S)+/g) ?? []
  let column = 0
  return words
    .map((word, index) => {
      const breaks = column + 1 + word.length > WIDTH
      column = breaks ? word.length : column + 1 + word.length
      return index === 0 ? word : `${breaks ? '\n' : ' '}${word}`
    })
    .join('')
}

/** A block of JSON. */
export function json(value: unknown): string {
  return `\`\`\`json\n${formatJson(value)}\n\`\`\``
}

/** Writes JSON; what fits into a short line is not taken apart. */
function formatJson(value: unknown, indent = ''): string {
  const line = inlineJson(value)
  if (typeof value !== 'object' || value === null) return line
  if (line.length <= JSON_WIDTH - indent.length) return line
  const inner = `${indent}  `
  const [open, close] = bracketsOf(value)
  const members = membersOf(value, (member) => formatJson(member, inner))
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`
}

function inlineJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const [open, close] = bracketsOf(value)
  const members = membersOf(value, inlineJson).join(', ')
  return members === '' || Array.isArray(value)
    ? `${open}${members}${close}`
    : `${open} ${members} ${close}`
}

function bracketsOf(value: object): readonly [string, string] {
  return Array.isArray(value) ? ['[', ']'] : ['{', '}']
}

function membersOf(value: object, write: (member: unknown) => string): readonly string[] {
  if (Array.isArray(value)) return value.map((member) => write(member))
  return Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${write(member)}`)
}

/** A table, aligned so that it can be read as it stands. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const last = head.length - 1
  const widths = head.map((_cell, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  )
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => (column === last ? cell : cell.padEnd(widths[column] ?? 0))).join(' | ')} |`
  const rule = head.map((cell, column) =>
    '-'.repeat((column < last && widths[column]) || cell.length),
  )
  return [head, rule, ...rows].map(line).join('\n')
}

/** A table of the members that a schema names, those of inner objects included. */
export function fieldTable(schema: JsonSchema, definitions: Definitions): string {
  return table(['Field', 'Type', 'Required', 'Description'], fieldRows(schema, definitions))
}

function fieldRows(
  schema: JsonSchema,
  definitions: Definitions,
  prefix = '',
): readonly (readonly string[])[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const field = resolve(property, definitions)
    const items = field.items && resolve(field.items, definitions)
    const required = schema.required?.includes(name) ? 'Yes' : 'No'
    const path = `${prefix}${name}`
    return [
      [`\`${path}\``, typeName(field), required, field.description ?? ''],
      ...fieldRows(items ?? field, definitions, items ? `${path}[].` : `${path}.`),
    ]
  })
}

/** A schema with what it refers to; its own words come before those of its definition. */
function resolve({ $ref, ...own }: JsonSchema, definitions: Definitions): JsonSchema {
  const name = $ref?.replace('#/$defs/', '')
  return name === undefined ? own : { ...definitions[name], ...own }
}

function typeName({ type, const: constant }: JsonSchema): string {
  return constant === undefined ? (type ?? 'any') : `\`${JSON.stringify(constant)}\``
}
