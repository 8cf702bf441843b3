/** Serves the files of a page from the build's output. */
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import express, { type Request, type Response, type Router } from 'express'
import { RequestProblem } from '../http/respond-problem.js'
import { takesNoQuery } from './read-query.js'
import { respondDocument, tagOf } from './respond-document.js'

const compress = promisify(gzip)

/** Names of files: no separator, and no dot at the beginning. */
const FILE_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** A file in memory. */
interface Asset {
  readonly plain: Buffer
  readonly compressed: Buffer
}

/** A page of the gateway. */
export interface PageOptions {
  /** Where it was built. `undefined` where this package is part of a bundle. */
  readonly folder: string | undefined
  /** Last part of its path: `console`. */
  readonly name: string
}

/** The page, below where it is mounted, and its files in `assets/`. */
export function pageRoutes({ folder, name }: PageOptions): Router {
  const router = express.Router()
  const assets = new AssetCache(folder)
  router.get('/', (req, res, next) => {
    // Relative, because only the client knows what is in front of the gateway.
    if (!isFolder(req)) return void res.set('Location', `./${name}/`).status(308).end()
    readPage(folder)
      .then((page) => sendPage(res, page))
      .catch(next)
  })
  router.get('/assets/:name', takesNoQuery, (req, res, next) => {
    assets
      .find(String(req.params['name']))
      .then((asset) => sendAsset(req, res, asset))
      .catch(next)
  })
  return router
}

function isFolder({ originalUrl }: Request): boolean {
  return originalUrl.split('?', 1)[0]?.endsWith('/') ?? false
}

async function readPage(folder: string | undefined): Promise<string | undefined> {
  const page = folder === undefined ? undefined : await readIfThere(join(folder, 'index.html'))
  return page?.toString('utf8')
}

function sendPage(res: Response, page: string | undefined): void {
  if (page !== undefined)
    return respondDocument(res, { type: 'html', body: page, tag: tagOf(page) }, 'no-cache')
  res.status(503).set({ 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
  res.end(
    'This page is not there. In a checkout: npm run build. In a bundle: leave express-x402-gateway out of it.\n',
  )
}

function sendAsset(req: Request, res: Response, { plain, compressed }: Asset): void {
  const isCompressed = req.acceptsEncodings(['gzip', 'identity']) === 'gzip'
  res.set({
    'Content-Type': TYPES[extname(req.path)] ?? 'application/octet-stream',
    // The name of a file changes with its content.
    'Cache-Control': 'public, max-age=31536000, immutable',
    Vary: 'Accept-Encoding',
    ...(isCompressed && { 'Content-Encoding': 'gzip' }),
  })
  res.end(isCompressed ? compressed : plain)
}

/** Keeps files that were asked for once: there are few, and they never change. */
class AssetCache {
  readonly #folder: string | undefined
  readonly #assets = new Map<string, Asset>()

  constructor(folder: string | undefined) {
    this.#folder = folder
  }

  /** @throws {@link RequestProblem} 404 */
  async find(name: string): Promise<Asset> {
    const known = this.#assets.get(name)
    if (known !== undefined) return known
    const plain = FILE_NAME.test(name) ? await this.#read(name) : undefined
    if (plain === undefined)
      throw new RequestProblem('not_found', 'This page has no file of that name: reload it.')
    const asset = { plain, compressed: await compress(plain) }
    this.#assets.set(name, asset)
    return asset
  }

  async #read(name: string): Promise<Buffer | undefined> {
    return this.#folder === undefined ? undefined : readIfThere(join(this.#folder, 'assets', name))
  }
}

async function readIfThere(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EISDIR') return undefined
    throw error
  }
}
