/** URLs that may receive webhooks. */
import { promises as dns } from 'node:dns'
import { isIP } from 'node:net'
import { isPublicAddress } from './public-address.js'
import { world } from '../../shared/world.js'

const MAX_URL_LENGTH = 2048

/** Timeout of a name server (ms), and number of tries. */
const DNS_TIMEOUT_MS = 2000
const DNS_TRIES = 2

/** Timeout of a name resolution (ms). */
const DNS_TOTAL_MS = 5000

/** Finds the addresses of a host. Rejects if it has none. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>

export interface ReceiverRules {
  /** Allows `http:` and private addresses, for development and closed networks. */
  readonly allowPrivate: boolean
  readonly resolve: ResolveHost
}

/** A receiver, or the mistake in its URL, for its merchant. */
export type Receiver =
  | { readonly kind: 'allowed'; readonly url: URL; readonly addresses: readonly string[] }
  | { readonly kind: 'refused'; readonly message: string }

export function receiverRules(allowPrivate: boolean): ReceiverRules {
  return { allowPrivate, resolve: allowPrivate ? resolveLocally : resolvePublicly }
}

/** The remedy for a receiver in development. */
const OTHERWISE = "the gateway's operator can allow others with webhooks.allowPrivate"

/** Checks a URL without resolving its host. */
export function parseReceiverUrl(
  text: string,
  { allowPrivate }: Pick<ReceiverRules, 'allowPrivate'>,
): { readonly url: URL } | { readonly message: string } {
  if (text.length > MAX_URL_LENGTH)
    return { message: `must have at most ${MAX_URL_LENGTH} characters` }
  const schemes = allowPrivate ? /^https?:\/\//i : /^https:\/\//i
  const example = 'like https://shop.example/webhooks'
  if (!schemes.test(text) || !URL.canParse(text))
    return {
      message: allowPrivate
        ? `must be an absolute http(s) URL, ${example}`
        : `must be an absolute https URL, ${example}; ${OTHERWISE}`,
    }
  const url = new URL(text)
  if (url.username !== '' || url.password !== '')
    return { message: 'must not contain a user or password: deliveries are signed instead' }
  if (url.hash !== '') return { message: 'must have no fragment (#…)' }
  if (url.port === '0') return { message: 'must have a port above 0' }
  const literal = literalOf(url)
  if (!allowPrivate && literal !== undefined && !isPublicAddress(literal))
    return { message: privateMessage(literal) }
  return { url }
}

/** Checks a URL and each address of its host. Never rejects. */
export async function findReceiver(text: string, rules: ReceiverRules): Promise<Receiver> {
  const parsed = parseReceiverUrl(text, rules)
  if ('message' in parsed) return { kind: 'refused', message: parsed.message }
  const { url } = parsed
  const addresses = await addressesOf(url, rules).catch((): readonly string[] => [])
  const hostname = url.hostname
  if (addresses.length === 0)
    return { kind: 'refused', message: `has the host ${hostname}, which has no address in DNS` }
  const hidden = addresses.find((address) => !isPublicAddress(address))
  if (!rules.allowPrivate && hidden !== undefined)
    return { kind: 'refused', message: privateMessage(hostname) }
  return { kind: 'allowed', url, addresses }
}

async function addressesOf(url: URL, { resolve }: ReceiverRules): Promise<readonly string[]> {
  const literal = literalOf(url)
  return literal === undefined ? resolve(url.hostname) : [literal]
}

/** The IP address in a URL. `URL` writes every form of IPv4 as four decimal numbers. */
export function literalOf({ hostname }: URL): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(bare) === 0 ? undefined : bare
}

function privateMessage(host: string): string {
  return `leads to ${host}, which is not on the public Internet; ${OTHERWISE}`
}

/**
 * Asks name servers, not the system: `getaddrinfo` blocks one of the few threads of this process until a
 * stranger's name server answers.
 */
async function resolvePublicly(hostname: string): Promise<readonly string[]> {
  const resolver = new dns.Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES })
  // Each of several name servers has its own timeout.
  const timer = world.setTimeout(() => resolver.cancel(), DNS_TOTAL_MS)
  const [ipv4, ipv6] = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ])
  world.clearTimeout(timer)
  return [ipv4, ipv6].flatMap((found) => (found.status === 'fulfilled' ? found.value : []))
}

/** Asks the system, which knows `localhost` and local names. */
async function resolveLocally(hostname: string): Promise<readonly string[]> {
  const found = await dns.lookup(hostname, { all: true })
  return found.map(({ address }) => address)
}
