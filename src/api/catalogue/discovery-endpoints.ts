/** `/api/v2/payment/discovery/*`: the catalogue of what was sold, as clients of the extension `bazaar` ask for it. */
import { publicRootOf } from '../../shared/http/public-url.js'
import { z } from 'zod'
import type { ListedResource } from '../../core/catalogue/catalogue.js'
import { listsOrigin } from '../../core/merchants/project.js'
import { sameNetwork } from '../../shared/protocol/networks.js'
import { BAZAAR, X402_VERSION } from '../../shared/protocol/payment.js'
import { notLoaded } from '../serve/authenticate.js'
import type { RouterContext } from '../context.js'
import { defineEndpoint, type Endpoint } from '../serve/define-endpoint.js'
import { lazyDocuments } from '../serve/lazy-documents.js'
import { cursorParameter, limitParameter, pageOf } from '../serve/pages.js'

const documents = lazyDocuments(() => import('../documents/discovery.js'))

/** Longest words that are searched for. */
const MAX_QUERY = 200

const text = z.string('must be given once').max(MAX_QUERY)

const filters = {
  type: text.optional().meta({ description: 'Only those of this type.', examples: ['http'] }),
  payTo: text.optional().meta({ description: 'Only those that pay this address.' }),
  scheme: text.optional().meta({ description: 'Only those of this scheme.', examples: ['exact'] }),
  network: text
    .optional()
    .meta({ description: 'Only those on this network.', examples: ['eip155:8453'] }),
  extensions: text
    .optional()
    .meta({ description: 'Only those with this extension.', examples: ['bazaar'] }),
  limit: limitParameter('Resources'),
}

const listQuery = z.object({
  ...filters,
  offset: z
    .string('must be given once')
    .regex(/^\d{1,9}$/, 'must be an integer of 0 or more')
    .transform(Number)
    .default(0)
    .meta({
      description: 'Resources that are passed over. Default: 0.',
      as: { type: 'integer', minimum: 0, default: 0 },
    }),
})

const searchQuery = z.object({
  query: text
    .min(1, 'must not be empty')
    .meta({ description: 'Words that all have to occur.', examples: ['weather'] }),
  ...filters,
  cursor: cursorParameter((name) => (/^\d{1,9}$/.test(name) ? Number(name) : undefined)),
})

type Filters = Pick<z.output<typeof listQuery>, keyof typeof filters>

const common = {
  method: 'GET',
  tag: 'Discovery',
  problems: ['ledger_unavailable'],
  access: 'anyone',
  limit: 'reads',
} as const

export const discoveryEndpoints: readonly Endpoint[] = [
  defineEndpoint({
    ...common,
    path: '/api/v2/payment/discovery/resources',
    id: 'listResources',
    summary: 'List what was sold',
    description:
      'Public. Resources that projects of this gateway have sold, with the terms of the last sale; the most often sold first, at most 5 s old. Projects with `listed: false` are left out. URLs, descriptions and tags are what sellers wrote: show them as text.',
    query: listQuery,
    responses: { 200: { description: 'A page.', document: documents('resourceList') } },
    async handle(context, { req, query }) {
      const { limit, offset } = query
      const found = await context.catalogue.find(await filterOf(context, query))
      return {
        x402Version: X402_VERSION,
        items: found
          .slice(offset, offset + limit)
          .map(describedAt(publicRootOf(req, context.publicUrl))),
        pagination: { limit, offset, total: found.length },
      }
    },
  }),
  defineEndpoint({
    ...common,
    path: '/api/v2/payment/discovery/search',
    id: 'searchResources',
    summary: 'Search what was sold',
    description:
      'Public. Like the list, for resources whose URL, description and tags have all words of `query`.',
    query: searchQuery,
    responses: { 200: { description: 'A page.', document: documents('resourceSearch') } },
    async handle(context, { req, query }) {
      const words = [...new Set(query.query.toLowerCase().split(/\s+/).filter(Boolean))]
      const { limit, cursor = 0 } = query
      const isListed = await filterOf(context, query)
      const found = await context.catalogue.find(
        (one) => isListed(one) && words.every((word) => one.words.includes(word)),
        cursor + limit + 1,
      )
      const { page, next } = pageOf(found.slice(cursor, cursor + limit + 1), limit, () =>
        String(cursor + limit),
      )
      return {
        x402Version: X402_VERSION,
        resources: page.map(describedAt(publicRootOf(req, context.publicUrl))),
        pagination: { limit, cursor: next.nextCursor ?? null },
      }
    },
  }),
]

async function filterOf(
  { directory }: RouterContext,
  { type, payTo, scheme, network, extensions }: Filters,
): Promise<(one: ListedResource) => boolean> {
  await directory.whenLoaded()
  if (!directory.isLoaded) throw notLoaded()
  const paid = payTo?.toLowerCase()
  return ({ project, claimed, listing }) => {
    const [entry] = listing.accepts
    const merchant = directory.findMerchant(project)
    if (merchant === undefined || merchant.listed === false || entry === undefined) return false
    if (claimed === 1 && !listsOrigin(merchant, listing.resource)) return false
    return (
      (type === undefined || listing.type === type) &&
      (paid === undefined || entry.payTo.toLowerCase() === paid) &&
      (scheme === undefined || entry.scheme === scheme) &&
      (network === undefined || sameNetwork(entry.network, network)) &&
      (extensions === undefined || (extensions === BAZAAR && listing.extensions !== undefined))
    )
  }
}

/** Makes the documents of resources. @param root - Where the reader finds this gateway's own app. */
function describedAt(root: string) {
  return ({ listing, soldAt, count }: ListedResource) => {
    const lastUpdated = new Date(soldAt).toISOString()
    const resource = listing.resource.startsWith('/') ? root + listing.resource : listing.resource
    const sales = { count, last: lastUpdated }
    return { ...listing, resource, x402Version: X402_VERSION, lastUpdated, sales }
  }
}
