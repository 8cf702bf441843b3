/** The OpenAPI document and its page: `/api/v2/openapi.json` and `/api/v2/docs`. */
import { join } from 'node:path'
import express, { type RequestHandler } from 'express'
import { ipKeyGenerator } from 'express-rate-limit'
import { ownPackage } from '../../http/own-package.cjs'
import { publicRootOf } from '../../http/public-url.js'
import type { MountedApi, RouterContext } from '../context.js'
import { rootUrlOf } from '../docs-url.js'
import { pageRoutes } from '../page-routes.js'
import { setLimitKey } from '../rate-limit.js'
import { takesNoQuery } from '../read-query.js'
import { respondDocument } from '../respond-document.js'
import { viewerSecurityHeaders } from '../security-headers.js'
import { DocumentPublisher } from './document-publisher.js'

/**
 * How long caches may keep the document. One that contains the `Host` of its request is not for shared
 * caches, which would serve a host that an attacker chose to everyone.
 */
const CONFIGURED = 'public, max-age=300'
const UNCONFIGURED = 'private, no-cache'

/** Makes what is mounted unless the option `docs` is `false`. */
export function createDocs(context: RouterContext): readonly MountedApi[] {
  return [documentApi(context), pageApi()]
}

function documentApi(context: RouterContext): MountedApi {
  const publisher = new DocumentPublisher(context)
  const routes = express.Router()
  const cacheControl = context.publicUrl === undefined ? UNCONFIGURED : CONFIGURED
  routes.get('/', takesNoQuery, (req, res, next) => {
    publisher
      .publish({ root: rootUrlOf(res), app: publicRootOf(req, context.publicUrl) })
      .then((document) => respondDocument(res, document, cacheControl))
      .catch(next)
  })
  return {
    prefix: '/api/v2/openapi.json',
    endpoints: { '/api/v2/openapi.json': ['GET'] },
    identify: countByAddress,
    routes,
  }
}

function pageApi(): MountedApi {
  const { folder } = ownPackage
  return {
    prefix: '/api/v2/docs',
    endpoints: { '/api/v2/docs': ['GET'], '/api/v2/docs/assets/{name}': ['GET'] },
    identify(req, res, next) {
      countByAddress(req, res, () => viewerSecurityHeaders(req, res, next))
    },
    routes: pageRoutes({ name: 'docs', folder: folder && join(folder, 'dist', 'docs') }),
  }
}

/** Requests for the documentation are no project's. */
const countByAddress: RequestHandler = (req, res, next) => {
  setLimitKey(res, `address:${ipKeyGenerator(req.ip ?? '')}`)
  next()
}
