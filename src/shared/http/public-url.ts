import type { Request } from 'express'

/**
 * The app's root URL from the client's view, without a trailing slash.
 *
 * Forwarded headers count only if the app's `trust proxy` setting covers the proxy. Invalid host names
 * are never echoed.
 *
 * @param publicUrl - The configured URL, which overrides the request.
 */
export function publicRootOf(req: Request, publicUrl: string | undefined): string {
  return publicUrl ?? `${req.protocol === 'https' ? 'https' : 'http'}://${hostOf(req)}`
}

/** Host and port. `req.host` and `req.hostname` each drop the port in one version of Express. */
function hostOf(req: Request): string {
  const forwarded = isFromTrustedProxy(req)
    ? req.get('x-forwarded-host')?.split(',', 1)[0]?.trim()
    : undefined
  return [forwarded, req.get('host')].find(isHost) ?? 'localhost'
}

/** Whether the app's `trust proxy` setting covers the proxy of a request. */
export function isFromTrustedProxy(req: Request): boolean {
  const trusts = req.app.get('trust proxy fn') as (address: string, hop: number) => boolean
  return trusts(req.socket.remoteAddress ?? '', 0)
}

/** A name, an IPv4 address or a bracketed IPv6 address, with an optional port (RFC 3986 §3.2.2, RFC 1123). */
const HOST =
  /^(?:\[[0-9a-f:.]{2,45}\]|(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?)(?::[0-9]{1,5})?$/i

const MAX_HOST_LENGTH = 255

function isHost(text: string | undefined): text is string {
  return (
    text !== undefined &&
    text.length <= MAX_HOST_LENGTH &&
    HOST.test(text) &&
    // Some names are no hosts of URLs: `web.1`, `256.1.1.1`.
    URL.canParse(`http://${text}`)
  )
}
