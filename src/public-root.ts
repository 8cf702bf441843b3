import type { Request } from 'express'

/**
 * Root URL of the app as the client of a request sees it, without a slash at the end.
 *
 * Forwarded headers count only where the app's `trust proxy` says that the proxy may be believed.
 *
 * @param publicUrl - What the operator says it is, whatever the request says.
 */
export function publicRootOf(req: Request, publicUrl: string | undefined): string {
  return publicUrl ?? `${req.protocol}://${hostOf(req)}`
}

/** Host and port. Express's own `req.host` and `req.hostname` drop the port, each in one version. */
function hostOf(req: Request): string {
  const trusts = req.app.get('trust proxy fn') as (address: string, hop: number) => boolean
  const isForwarded = trusts(req.socket.remoteAddress ?? '', 0)
  const forwarded = isForwarded && req.get('x-forwarded-host')?.split(',', 1)[0]?.trim()
  return forwarded || (req.get('host') ?? 'localhost')
}
