import type { Response } from 'express'

export interface PagePolicy {
  /** For this response only. */
  readonly nonce: string
  /** A logo with a path is the only file that the page loads. */
  readonly loadsLogo: boolean
}

/**
 * Sets the page's security headers, instead of the app's own. `blob:` is for bought pictures and sound.
 */
export function setPageHeaders(res: Response, { nonce, loadsLogo }: PagePolicy): void {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    `img-src data: blob:${loadsLogo ? " 'self'" : ''}`,
    'media-src blob:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  res.setHeader('Content-Security-Policy', policy.join('; '))
  res.removeHeader('Content-Security-Policy-Report-Only')
  res.setHeader('X-Content-Type-Options', 'nosniff')
  res.setHeader('X-Frame-Options', 'DENY')
  res.setHeader('Referrer-Policy', 'same-origin')
}
