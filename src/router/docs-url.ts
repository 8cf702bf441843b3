import type { Response } from 'express'

/** Remembers, for one request, the root URL under which `/ucp/…` is published. */
export function setDocsUrl(res: Response, url: string): void {
  res.locals['x402DocsUrl'] = url
}

/** The root URL under which `/ucp/…` is published. */
export function docsUrlOf(res: Response): string {
  return String(res.locals['x402DocsUrl'])
}
