/** Serves the files of a page from the build's output. */
import { readFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Request, Response } from 'express'
import { ownPackage } from '../../shared/http/own-package.cjs'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { defineEndpoint } from './define-endpoint.js'
import type { Tag } from './fixed-parts.js'
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

interface Asset {
  readonly plain: Buffer
  readonly compressed: Buffer
}

export const NOT_MODIFIED = {
  description: 'The client has it already.',
  headers: ['ETag'],
} as const

export interface PageOptions {
  readonly path: string
  readonly tag: Tag
  readonly id: string
  readonly summary: string
  readonly description: string
  /** Its folder; `undefined` if this package is part of a bundle. */
  readonly folder: string | undefined
}

export const builtFolder = (name: string): string | undefined =>
  ownPackage.folder && join(ownPackage.folder, 'dist', name)

export function pageEndpoints({ path, tag, id, folder, ...words }: PageOptions) {
  const assets = new AssetCache(folder)
  const page = defineEndpoint({
    ...words,
    path,
    tag,
    id,
    method: 'GET',
    access: 'anyone',
    headers: ['If-None-Match'],
    ignoresQuery: true,
    responses: {
      200: { description: 'The page.', type: 'text/html', headers: ['ETag'] },
      304: NOT_MODIFIED,
      308: { description: 'The page is at the path with a slash.', headers: ['Location'] },
      503: { description: 'The page is not installed.', type: 'text/plain' },
    },
    async respond(_context, { req, res }) {
      // Relative, because only the client knows what is in front of the gateway.
      if (isFolder(req)) return sendPage(res, await readPage(folder))
      res
        .set('Location', `./${basename(path)}/`)
        .status(308)
        .end()
    },
  })
  const asset = defineEndpoint({
    method: 'GET',
    path: `${path}/assets/{name}`,
    tag,
    id: `${id}Asset`,
    access: 'anyone',
    summary: 'Get a file of the page',
    description: 'Script, style sheet and icon. The name of a file changes with its content.',
    params: { name: 'Name of the file.' },
    responses: { 200: { description: 'The file.', type: 'application/octet-stream' } },
    async respond(_context, { req, res, param }) {
      sendAsset(req, res, await assets.find(param('name')))
    },
  })
  return { page, asset }
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
    const mayExist = this.#folder !== undefined && FILE_NAME.test(name)
    const plain = mayExist ? await readIfThere(join(this.#folder, 'assets', name)) : undefined
    if (plain === undefined)
      throw new RequestProblem('not_found', 'This page has no file of that name: reload it.')
    const asset = { plain, compressed: await compress(plain) }
    this.#assets.set(name, asset)
    return asset
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
