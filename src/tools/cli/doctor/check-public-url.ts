import type { ResolvedOptions } from '../../../gateway/config/resolve/resolve-options.js'
import { fetchJson } from '../../../shared/http/fetch-json.js'
import { sameNetwork } from '../../../shared/protocol/networks.js'
import { caution, fault, sound, type DoctorFinding } from './doctor-finding.js'

const TIMEOUT_MS = 5000
const MAX_BYTES = 64 * 1024

/** Lists the networks of a gateway. */
const PATH = '/api/v2/payment/supported'

/** Problem type of a request without a token. */
const PROBLEM = 'urn:x402-gateway:problem:unauthorized'

/** Checks that the public URL leads to this gateway, seen from this machine. */
export async function checkPublicUrl({
  publicUrl,
  networks,
}: Pick<ResolvedOptions, 'publicUrl' | 'networks'>): Promise<readonly DoctorFinding[]> {
  if (publicUrl === undefined) return []
  const answer = await fetchJson(`${publicUrl}${PATH}`, {
    headers: { Accept: 'application/json' },
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
  })
  if (answer.kind === 'no_response') {
    const message = `Nothing answers at publicUrl ${publicUrl} (${answer.reason}): start serve, or correct DNS, proxy and firewall.`
    return [caution('publicUrl', 'public_url_unreachable', message)]
  }
  const document = answer.kind === 'json' ? answer.document : undefined
  if (isGateway(document, networks)) return [sound('publicUrl', `${publicUrl} leads to a gateway.`)]
  const message = `publicUrl ${publicUrl} does not lead to this gateway (GET ${PATH}: status ${answer.status}): correct it, or the proxy’s path.`
  return [fault('publicUrl', 'public_url_elsewhere', message)]
}

/** An answer is from this gateway if it asks for a token or lists our networks. */
function isGateway(document: unknown, networks: ResolvedOptions['networks']): boolean {
  const { type } = (document ?? {}) as { type?: unknown }
  if (type === PROBLEM) return true
  const ids = networksIn(document)
  return (
    ids.length > 0 &&
    networks.every(({ network }) => ids.some((id) => sameNetwork(id, network.caip2)))
  )
}

/** Networks that a gateway settles on. */
function networksIn(document: unknown): readonly string[] {
  const { kinds } = (document ?? {}) as { kinds?: unknown }
  if (!Array.isArray(kinds)) return []
  return kinds.flatMap((kind: unknown) => {
    const { network } = (kind ?? {}) as { network?: unknown }
    return typeof network === 'string' ? [network] : []
  })
}
