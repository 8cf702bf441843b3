import { once } from 'node:events'
import { connect as connectPlain, isIP } from 'node:net'
import { connect } from 'node:tls'

/** How long to wait for a connection (ms). */
const CONNECT_MS = 5000

/** Warns this many days before a certificate expires. */
const CERTIFICATE_DAYS = 14

const DAY_MS = 86_400_000

export interface Host {
  /** Name that the certificate must have. */
  readonly name: string
  /** Address to connect to, if it is known. */
  readonly address?: string | undefined
  readonly port: number
  readonly isSecure: boolean
}

/** Result of {@link inspectHost}. */
export type HostState =
  | { readonly kind: 'sound' }
  | { readonly kind: 'unreachable'; readonly code: string }
  /** The host does not speak TLS. */
  | { readonly kind: 'no_tls'; readonly code: string }
  | { readonly kind: 'untrusted'; readonly why: string }
  | { readonly kind: 'ends_soon'; readonly days: number }

/** Connects to a host and checks its certificate. Sends nothing. */
export async function inspectHost(host: Host): Promise<HostState> {
  const { name, address = name, port, isSecure } = host
  const signal = AbortSignal.timeout(CONNECT_MS)
  if (!isSecure) {
    const plain = connectPlain({ host: address, port })
    try {
      await once(plain, 'connect', { signal })
      return { kind: 'sound' }
    } catch (error) {
      return { kind: 'unreachable', code: codeOf(error) }
    } finally {
      plain.destroy()
    }
  }
  const servername = isIP(name) === 0 ? { servername: name } : {}
  // Trust is checked below.
  const socket = connect({ host: address, port, ...servername, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect', { signal })
    if (!socket.authorized) {
      const why = socket.authorizationError as unknown
      return { kind: 'untrusted', why: why instanceof Error ? why.message : String(why) }
    }
    const { valid_to: until } = socket.getPeerCertificate()
    const days = Math.floor((Date.parse(until) - Date.now()) / DAY_MS)
    return days < CERTIFICATE_DAYS ? { kind: 'ends_soon', days } : { kind: 'sound' }
  } catch (error) {
    const code = codeOf(error)
    const kind = /^(EPROTO|ERR_SSL|ECONNRESET)/.test(code) ? 'no_tls' : 'unreachable'
    return { kind, code }
  } finally {
    socket.destroy()
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'timeout'
