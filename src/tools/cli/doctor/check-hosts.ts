import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { rpcOption, sourceOf, type Environment } from '../../../gateway/config/read/variables.js'
import type { ResolvedOptions } from '../../../gateway/config/resolve/resolve-options.js'
import { inspectHost } from './certificate.js'
import { caution, fault, type DoctorFinding } from './doctor-finding.js'

/** A URL and its option. The host is not shown: it may contain a key. */
interface NamedUrl {
  readonly option: string
  readonly url: string
}

/** Checks that the hosts of all URLs resolve, and that their certificates are valid. */
export async function checkHosts(
  resolved: ResolvedOptions,
  env: Environment,
): Promise<readonly DoctorFinding[]> {
  const { networks, publicUrl } = resolved
  const facilitatorUrl = env['X402_FACILITATOR_URL']?.trim()
  const urls: readonly NamedUrl[] = [
    ...networks.flatMap(({ network, core }) =>
      core ? [{ option: sourceOf(rpcOption(network), env), url: core.rpcUrl }] : [],
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
    const message = `DNS cannot resolve the host of ${option} (${code}): correct it, or this machine’s DNS.`
    return [fault('dns', 'dns_failed', message)]
  }
  if (protocol !== 'https:') return []
  return checkCertificate(option, { name: host, port: Number(port || 443) })
}

async function checkCertificate(
  option: string,
  host: { readonly name: string; readonly port: number },
): Promise<readonly DoctorFinding[]> {
  const state = await inspectHost({ ...host, isSecure: true })
  switch (state.kind) {
    case 'sound':
    // Reported by the check of the service at this URL.
    case 'unreachable':
      return []
    case 'untrusted': {
      const message = `The certificate of ${option} is not trusted (${state.why}): renew it, correct the host, or add its authority to NODE_EXTRA_CA_CERTS.`
      return [fault('tls', 'tls_untrusted', message)]
    }
    case 'ends_soon': {
      const message = `The certificate of ${option} expires in ${state.days} days: renew it.`
      return [caution('tls', 'tls_ends_soon', message)]
    }
    case 'no_tls': {
      const message = `The host of ${option} does not speak TLS on port ${host.port} (${state.code}): correct the URL.`
      return [fault('tls', 'tls_failed', message)]
    }
  }
}
