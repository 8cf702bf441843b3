import { once } from 'node:events'
import { connect as connectPlain, isIP } from 'node:net'
import { connect } from 'node:tls'
import { rpcOption, sourceOf } from '../../../gateway/config/read/name-variables.js'
import type { Environment } from '../../../gateway/config/read/variables.js'
import type { ResolvedOptions } from '../../../gateway/config/resolve/resolve-options.js'
import { fault, type DoctorFinding } from './doctor-finding.js'

const CONNECT_MS = 5000

export interface Host {
  readonly name: string
  /** Address to connect to, if it is known. */
  readonly address?: string | undefined
  readonly port: number
  readonly isSecure: boolean
}

export type HostState =
  | { readonly kind: 'sound' }
  | { readonly kind: 'unreachable'; readonly code: string }
  | { readonly kind: 'untrusted'; readonly why: string }

/** Checks that the certificates of all configured URLs are trusted. What cannot be reached is found elsewhere. */
export async function checkCertificates(
  { networks, publicUrl }: Pick<ResolvedOptions, 'networks' | 'publicUrl'>,
  env: Environment,
): Promise<readonly DoctorFinding[]> {
  const urls = [
    ...networks.map(({ network, core }) => [sourceOf(rpcOption(network), env), core?.rpcUrl]),
    ['publicUrl', publicUrl],
    ['X402_FACILITATOR_URL', env['X402_FACILITATOR_URL']?.trim()],
  ] as const
  const checked = urls.map(async ([option, url]): Promise<readonly DoctorFinding[]> => {
    if (!url?.startsWith('https:')) return []
    const state = await inspectHost(hostOf(new URL(url)))
    if (state.kind !== 'untrusted') return []
    // The host is not shown: it may contain a key.
    const message = `The certificate of ${option} is not trusted (${state.why}): renew it, correct the host, or add its authority to NODE_EXTRA_CA_CERTS.`
    return [fault('tls', 'tls_untrusted', message)]
  })
  return (await Promise.all(checked)).flat()
}

export function hostOf({ protocol, hostname, port }: URL): Host {
  const isSecure = protocol === 'https:'
  const name = hostname.replace(/^\[|\]$/g, '')
  return { name, port: Number(port || (isSecure ? 443 : 80)), isSecure }
}

/** Connects to a host and checks its certificate. Sends nothing. */
export async function inspectHost(host: Host): Promise<HostState> {
  const { name, address = name, port, isSecure } = host
  const servername = isIP(name) === 0 ? { servername: name } : {}
  // Trust is checked below.
  const secure =
    isSecure && connect({ host: address, port, ...servername, rejectUnauthorized: false })
  const socket = secure || connectPlain({ host: address, port })
  try {
    const signal = AbortSignal.timeout(CONNECT_MS)
    await once(socket, secure ? 'secureConnect' : 'connect', { signal })
    if (!secure || secure.authorized) return { kind: 'sound' }
    const why = secure.authorizationError as unknown
    return { kind: 'untrusted', why: why instanceof Error ? why.message : String(why) }
  } catch (error) {
    const { code = 'timeout' } = error as NodeJS.ErrnoException
    return { kind: 'unreachable', code }
  } finally {
    socket.destroy()
  }
}
