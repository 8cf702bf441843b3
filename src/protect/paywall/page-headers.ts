import type { Response } from 'express'

/** The logo, if it is a path, is the one file that the page loads. */
export interface PagePolicy {
  /** Of this response alone. */
  readonly nonce: string
  readonly loadsLogo: boolean
}

/**
 * Sets the security headers of the page, in place of those that the app has set for its own pages.
 *
 * `blob:` is for pictures and sound that were bought.
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
