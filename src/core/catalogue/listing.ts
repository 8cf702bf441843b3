/**
 * How a resource that was sold is listed.
 *
 * A payment that another server presents to settle says in its buyer's words what it is for. Nobody has checked
 * them, so only names and types of what the resource takes and gives are listed, and no value and no other word.
 */
import { isPublicUrl } from '../../shared/http/http-url.js'
import type { PaymentRequirements, ResourceInfo } from '../../shared/protocol/payment.js'
import { findNetwork } from '../../shared/protocol/networks.js'
import { isObject } from '../../shared/protocol/document.js'
import { ADDRESS } from '../../shared/protocol/primitives.js'
import { withoutInvisible } from '../../shared/protocol/visible-text.js'
import { isTemplate, MAX_BAZAAR_BYTES, type Bazaar } from './bazaar.js'
import { MAX_TAGS, TAG } from './declaration.js'
import type { JsonSchema } from './json-schema.js'

export interface Listing {
  /** URL without query, credentials and fragment; parameters as `:id`. */
  readonly resource: string
  readonly type: 'http' | 'mcp'
  readonly method?: string | undefined
  /** How it was paid last. */
  readonly accepts: readonly PaymentRequirements[]
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly extensions?: { readonly bazaar: ListedBazaar } | undefined
}

export type ListedBazaar = Pick<Bazaar, 'schema'> & {
  readonly info: object
  readonly routeTemplate?: string | undefined
}

const MAX_URL = 2048
const MAX_DESCRIPTION = 500
/** Longest name and version of a token. */
const MAX_EXTRA = 100

const MIME_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}(?:; ?[\w.=+-]{1,64})?$/
const METHODS = new Set(['GET', 'HEAD', 'DELETE', 'POST', 'PUT', 'PATCH'])

/** A payment's claims about its resource. */
export interface ClaimedResource {
  readonly resource: Readonly<Record<string, unknown>> | null | undefined
  readonly bazaar: unknown
  readonly entry: PaymentRequirements
}

/** Reads how a resource is to be listed from what came with its payment. @returns Why it cannot be, if it cannot */
export function readListing({ resource, bazaar, entry }: ClaimedResource): Listing | string {
  const extension = readBazaar(bazaar)
  if (typeof extension === 'string') return extension
  const url = listedUrl(resource?.['url'], extension.bazaar.routeTemplate)
  if (url === undefined) return 'resource.url is no http(s) URL without credentials'
  return listingOf(url, {}, { ...extension, entry })
}

/**
 * Lists a resource.
 *
 * @param said - What its seller says of it.
 */
export function listingOf(
  url: string,
  said: Readonly<Partial<ResourceInfo>>,
  {
    entry,
    type = 'http',
    method,
    bazaar,
  }: {
    entry: PaymentRequirements
    type?: Listing['type']
    method?: string | undefined
    bazaar?: ListedBazaar | undefined
  },
): Listing {
  const { scheme, network, amount, payTo, maxTimeoutSeconds, asset, extra } = entry
  // A buyer cannot sign without these.
  const signed = {
    name: words(extra?.['name'], MAX_EXTRA),
    version: words(extra?.['version'], MAX_EXTRA),
    assetTransferMethod: matching(extra?.['assetTransferMethod'], /^(?:eip3009|permit2)$/),
    facilitatorAddress: matching(extra?.['facilitatorAddress'], ADDRESS),
  }
  return {
    resource: url,
    type,
    method,
    // Without the parts of an offer that are good for one buyer only, and without what a stranger added.
    accepts: [
      {
        scheme,
        // A payment of version 1 names it in short.
        network: findNetwork(network)?.caip2 ?? network,
        amount,
        payTo,
        maxTimeoutSeconds,
        asset,
        extra: signed,
      },
    ],
    description: words(said.description, MAX_DESCRIPTION),
    mimeType: matching(said.mimeType, MIME_TYPE),
    tags: tagsOf(said.tags),
    extensions: bazaar && { bazaar },
  }
}

interface ReadBazaar {
  readonly type: Listing['type']
  readonly method: string | undefined
  readonly bazaar: ListedBazaar
}

/** @returns Why it cannot be listed, in words, if it cannot. */
function readBazaar(value: unknown): ReadBazaar | string {
  const extension = asObject(value)
  const info = asObject(extension?.['info'])
  const input = asObject(info?.['input'])
  if (extension === undefined || info === undefined || input === undefined)
    return 'info.input is missing'
  const { type, method } = input
  const { routeTemplate } = extension
  if (type !== 'http' && type !== 'mcp') return 'info.input.type must be http or mcp'
  if (method !== undefined && !(typeof method === 'string' && METHODS.has(method)))
    return 'info.input.method must be one of HTTP'
  if (Buffer.byteLength(JSON.stringify(extension)) > MAX_BAZAAR_BYTES)
    return `it is longer than ${MAX_BAZAAR_BYTES} bytes`
  const bodyType = matching(input['bodyType'], NAME)
  const toolName = matching(input['toolName'], NAME)
  const bazaar = {
    info: { input: { type, method, bodyType, toolName } },
    schema: typesOf(extension['schema']),
    routeTemplate: isTemplate(routeTemplate) ? routeTemplate : undefined,
  }
  return { type, method, bazaar }
}

const NAME = /^(?!__proto__$)[\w.-]{1,64}$/
const TYPE = /^(?:object|array|string|number|integer|boolean|null)$/

/** The names and types of a JSON Schema, which was parsed from JSON of bounded depth. */
function typesOf(value: unknown): JsonSchema {
  const { type, properties, required, items } = asObject(value) ?? {}
  const named = Object.entries(asObject(properties) ?? {}).filter(([name]) => NAME.test(name))
  return {
    type: matching(type, TYPE),
    ...(properties !== undefined && {
      properties: Object.fromEntries(named.map(([name, schema]) => [name, typesOf(schema)])),
    }),
    required: Array.isArray(required) ? required.filter((name) => matching(name, NAME)) : undefined,
    items: items === undefined ? undefined : typesOf(items),
  }
}

/** The URL that is listed: nothing of one buyer's request, and nothing that a page would run. */
function listedUrl(value: unknown, template: string | undefined): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_URL || !isPublicUrl(value)) return undefined
  const { origin, pathname } = new URL(value)
  return origin + (template ?? pathname)
}

function tagsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined
  const tags = value.slice(0, 4 * MAX_TAGS).flatMap((tag) => matching(tag, TAG) ?? [])
  return tags.length > 0 ? [...new Set(tags)].slice(0, MAX_TAGS) : undefined
}

function words(value: unknown, maxLength: number): string | undefined {
  if (typeof value !== 'string') return undefined
  return withoutInvisible(value, maxLength) || undefined
}

function matching(value: unknown, pattern: RegExp): string | undefined {
  return typeof value === 'string' && pattern.test(value) ? value : undefined
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isObject(value) ? value : undefined
}
