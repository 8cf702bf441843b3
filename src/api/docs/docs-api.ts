/** The OpenAPI document and its page: `/api/v2/openapi.json` and `/api/v2/docs`. */
import { publicRootOf } from '../../shared/http/public-url.js'
import type { RouterContext } from '../context.js'
import { defineEndpoint } from '../serve/define-endpoint.js'
import { rootUrlOf } from '../serve/docs-url.js'
import { builtFolder, NOT_MODIFIED, pageEndpoints } from '../serve/page-endpoints.js'
import { countByAddress } from '../serve/rate-limit.js'
import { respondDocument } from '../serve/respond-document.js'
import { viewerSecurityHeaders } from '../serve/security-headers.js'
import { bindEndpoints, type MountedApi } from '../serve/serve-endpoints.js'
import type { DocumentPublisher } from './document-publisher.js'
import { lazyDocuments } from '../serve/lazy-documents.js'

const documents = lazyDocuments(() => import('../documents/checkout.js'))

/**
 * How long caches may keep the document. One that contains the `Host` of its request is not for shared
 * caches, which would serve a host that an attacker chose to everyone.
 */
const CONFIGURED = 'public, max-age=300'
const UNCONFIGURED = 'private, no-cache'

interface DocsContext extends RouterContext {
  readonly publisher: DocumentPublisher
}

const openApi = defineEndpoint({
  method: 'GET',
  path: '/api/v2/openapi.json',
  id: 'getOpenApi',
  tag: 'Documentation',
  access: 'anyone',
  summary: 'Get this document',
  description: 'The description of this API in OpenAPI 3.1: what this gateway has mounted.',
  headers: ['If-None-Match'],
  responses: {
    200: {
      description: 'The document.',
      document: documents('openApiDocument'),
      headers: ['ETag'],
    },
    304: NOT_MODIFIED,
  },
  async respond({ publicUrl, publisher }: DocsContext, { req, res }) {
    const app = publicRootOf(req, publicUrl)
    const document = await publisher.publish({ root: rootUrlOf(res), app })
    respondDocument(res, document, publicUrl === undefined ? UNCONFIGURED : CONFIGURED)
  },
})

const { page, asset } = pageEndpoints({
  path: '/api/v2/docs',
  tag: 'Documentation',
  id: 'getDocs',
  summary: 'Open the documentation',
  description: 'This document as a page, on which requests can be tried.',
  folder: builtFolder('docs'),
})

export const docsEndpoints = [openApi, page, asset]

/** Mounted unless the option `docs` is `false`. */
export function mountDocs(context: DocsContext): readonly MountedApi[] {
  return [
    {
      prefix: openApi.path,
      identify: [countByAddress],
      endpoints: bindEndpoints(context, [openApi]),
    },
    {
      prefix: page.path,
      identify: [countByAddress, viewerSecurityHeaders],
      endpoints: bindEndpoints(context, [page, asset]),
    },
  ]
}
