/** Renders the public documents of the handler from the templates next to this file. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PERMIT2, PERMIT2_SPENDERS } from '../../../shared/protocol/contracts.js'
import type { NetworkNameStyle } from '../../../shared/protocol/networks.js'
import {
  documentRoot,
  HANDLER_VERSION,
  handlerDescriptor,
  UCP_VERSION,
  type Handler,
} from './handler.js'
import { templates } from './templates.cjs'

/** Values of placeholders such as `{{handlerId}}`, by name. */
type Placeholders = Readonly<Record<string, unknown>>

/** Base in examples and any network in schemas, by the gateway's style. */
const NETWORK_NAMES = {
  caip2: {
    network: 'eip155:8453',
    networkDescription: 'Chain, as CAIP-2 writes it: `eip155:8453`.',
    networkPattern: '^eip155:[1-9][0-9]*$',
  },
  short: {
    network: 'base',
    networkDescription:
      'Chain: its short name (`base`), or CAIP-2 (`eip155:8453`) where it has none.',
    networkPattern: '^(eip155:[1-9][0-9]*|[a-z][a-z0-9-]*)$',
  },
} as const satisfies Record<NetworkNameStyle, Placeholders>

let specification: string | undefined

/**
 * Renders the specification of the handler in Markdown, from `gateway.md`.
 *
 * @throws Error when the template is missing or has an unknown placeholder.
 */
export function renderSpecification(handler: Handler): string {
  specification ??= readTemplate()
  return fillTemplate(specification, placeholdersOf(handler))
}

/**
 * Renders the JSON schema (draft 2020-12) of the handler.
 *
 * UCP composes its own schemas with `$defs[<handler id>]`. The document as a whole accepts the handler's
 * declaration in any of its three places. Some shops look up `instrument` by that name.
 *
 * @param version - Selects the unchanging copy of a version.
 */
export function handlerSchema(handler: Handler, version?: string): object {
  const schema = renderSchema(templates.handlerSchema, handler, version)
  const { $defs } = renderSchema(templates.instrumentSchema, handler, version)
  return { ...schema, $defs: { ...schema.$defs, ...$defs } }
}

/** As {@link handlerSchema}, of the handler's instruments. */
export function instrumentSchema(handler: Handler, version?: string): object {
  return renderSchema(templates.instrumentSchema, handler, version)
}

function renderSchema(template: object, handler: Handler, version?: string): { $defs: object } {
  const documents = documentRoot(handler, version)
  const values = { ...placeholdersOf(handler), documents }
  return fillDocument(template, values) as { $defs: object }
}

/**
 * Values of all placeholders, including the examples: $15.00 for two books, in USDC on Base.
 *
 * The signature in `examples.json` is valid for its `typedData`, so that wallet developers can compare
 * theirs. Its key is a public one of local development chains.
 */
function placeholdersOf(handler: Handler): Placeholders {
  const values: Record<string, unknown> = {
    handlerId: handler.id,
    handlerVersion: HANDLER_VERSION,
    docsUrl: handler.docsUrl,
    ucpVersion: UCP_VERSION,
    permit2: PERMIT2,
    permit2Spender: PERMIT2_SPENDERS.exact,
    descriptor: handlerDescriptor(handler),
    ...NETWORK_NAMES[handler.networkNames],
  }
  for (const [name, example] of Object.entries(templates.examples))
    values[name] = fillDocument(example, values)
  const { checkout, completed, refused } = values as Record<string, object>
  return {
    ...values,
    completedCheckout: { ...checkout, ...completed },
    refusedCheckout: { ...checkout, ...refused },
  }
}

export function readTemplate(path = join(templates.folder, 'gateway.md')): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Error(
      `Cannot read the UCP specification template at ${path}. It is a file of express-x402-gateway: mark the package as external in your bundler, or copy the file.`,
      { cause },
    )
  }
}

/** Replaces each `{{name}}` by its value: strings unchanged, everything else as JSON. */
export function fillTemplate(text: string, values: Placeholders): string {
  return text.replaceAll(/\{\{(.*?)\}\}/g, (_placeholder, name: string) => {
    const value = valueOf(name, values)
    return typeof value === 'string' ? value : formatJson(value)
  })
}

/** Replaces each `{{name}}` in the names and strings of a JSON document. */
function fillDocument(document: unknown, values: Placeholders): unknown {
  if (typeof document === 'string') {
    const [, name] = /^\{\{(\w+)\}\}$/.exec(document) ?? []
    return name === undefined ? fillTemplate(document, values) : valueOf(name, values)
  }
  if (Array.isArray(document)) return document.map((one) => fillDocument(one, values))
  if (typeof document !== 'object' || document === null) return document
  const members = Object.entries(document).map(
    ([name, member]) => [fillTemplate(name, values), fillDocument(member, values)] as const,
  )
  return Object.fromEntries(members)
}

function valueOf(name: string, values: Placeholders): unknown {
  if (Object.hasOwn(values, name)) return values[name]
  throw new Error(`A template has the unknown placeholder {{${name}}}.`)
}

/** Longest line of an object or array (columns). */
const JSON_WIDTH = 80

/**
 * Formats JSON for people: objects and arrays that fit stay on one line.
 *
 * @param indent - Indentation of the line.
 */
export function formatJson(value: unknown, indent = ''): string {
  // Line breaks are between members only: JSON escapes those in strings.
  const spaced = JSON.stringify(value, null, 1)
  const line = spaced.replaceAll(/(?<=\[)\n *|\n *(?=\])/g, '').replaceAll(/\n */g, ' ')
  if (typeof value !== 'object' || value === null) return line
  if (line.length <= JSON_WIDTH - indent.length) return line
  const inner = `${indent}  `
  const members = Array.isArray(value)
    ? value.map((member) => formatJson(member, inner))
    : Object.entries(value).map(
        ([name, member]) => `${JSON.stringify(name)}: ${formatJson(member, inner)}`,
      )
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`
}
