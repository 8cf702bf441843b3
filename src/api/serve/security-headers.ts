import type { RequestHandler } from 'express'

/** CSP: own files only, no framing. */
const policyOf = (styles: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${styles}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), usb=()',
}

/** Sets the security headers of a page, also of its refusals. */
export const securityHeaders = headersWith("'self'")

/** The same for the viewer of the API's documentation, which writes styles into its elements. */
export const viewerSecurityHeaders = headersWith("'self' 'unsafe-inline'")

function headersWith(styles: string): RequestHandler {
  const headers = { 'Content-Security-Policy': policyOf(styles), ...HEADERS }
  return function setSecurityHeaders(_req, res, next) {
    res.set(headers)
    next()
  }
}
