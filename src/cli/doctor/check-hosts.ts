import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import type { ResolvedOptions } from '../../config/resolve.js'
import { caution, fault, type DoctorFinding } from './doctor-finding.js'

/** Milliseconds for a connection. */
const CONNECT_MS = 5000

/** Days before a certificate ends on which that is worth a warning. */
const CERTIFICATE_DAYS = 14

const DAY_MS = 86_400_000

/** A URL, and the option that holds it. Its host is not shown: it may be a key. */
interface NamedUrl {
  readonly option: string
  readonly url: string
}

/** Checks that the hosts of all URLs are found, and that their certificates are good. */
export async function checkHosts(
  resolved: ResolvedOptions,
  facilitatorUrl: string | undefined,
): Promise<readonly DoctorFinding[]> {
  const { networks, publicUrl } = resolved
  const urls: readonly NamedUrl[] = [
    ...networks.flatMap(({ network, core }) =>
      core
        ? [{ option: `networks.${network.shortName ?? network.caip2}.rpcUrl`, url: core.rpcUrl }]
        : [],
    ),
    ...(publicUrl ? [{ option: 'publicUrl', url: publicUrl }] : []),
    ...(facilitatorUrl ? [{ option: 'X402_FACILITATOR_URL', url: facilitatorUrl }] : []),
  ]
  return (await Promise.all(urls.map(checkHost))).flat()
}

async function checkHost({ option, url }: NamedUrl): Promise<readonly DoctorFinding[]> {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  try {
    if (isIP(host) === 0) await lookup(host)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const message = `The DNS does not know the host of ${option} (${code}): correct it, or this machine’s DNS.`
    return [fault('dns', 'dns_failed', message)]
  }
  if (protocol !== 'https:') return []
  return checkCertificate({ option, host, port: Number(port || 443) })
}

async function checkCertificate(target: {
  readonly option: string
  readonly host: string
  readonly port: number
}): Promise<readonly DoctorFinding[]> {
  const { option, host, port } = target
  const servername = isIP(host) === 0 ? { servername: host } : {}
  // Whether it is trusted is looked at below. Nothing is sent.
  const socket = connect({ host, port, ...servername, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(CONNECT_MS) })
    const { valid_to: until } = socket.getPeerCertificate()
    const days = Math.floor((Date.parse(until) - Date.now()) / DAY_MS)
    if (!socket.authorized) {
      const why = socket.authorizationError as unknown
      const code = why instanceof Error ? why.message : String(why)
      const message = `The certificate of ${option} cannot be trusted (${code}): renew it, correct the host, or name its authority in NODE_EXTRA_CA_CERTS.`
      return [fault('tls', 'tls_untrusted', message)]
    }
    if (days >= CERTIFICATE_DAYS) return []
    const message = `The certificate of ${option} ends in ${days} days: renew it.`
    return [caution('tls', 'tls_ends_soon', message)]
  } catch (error) {
    const { code = 'timeout' } = error as NodeJS.ErrnoException
    // A refused connection is found by the check of what should answer there.
    if (!/^(EPROTO|ERR_SSL|ECONNRESET)/.test(code)) return []
    const message = `The host of ${option} speaks no TLS at port ${port} (${code}): correct the URL.`
    return [fault('tls', 'tls_failed', message)]
  } finally {
    socket.destroy()
  }
}
