/** Checks from outside what catalogues and buyers refuse at a public URL. Never pays. */
import { z } from 'zod'
import { isPublicAddress } from '../../../operate/webhooks/public-address.js'
import { literalOf } from '../../../operate/webhooks/receiver-url.js'
import { fetchJson } from '../../../shared/http/fetch-json.js'
import { parseDocument } from '../../../shared/protocol/document.js'
import { requirementsSchema } from '../../../shared/protocol/payment.js'
import { world } from '../../../shared/world.js'
import type { CliContext } from '../command.js'
import { counted } from '../style.js'
import { checkRoute, unreachable, type Ask, type CheckedRoute, type Route } from './check-route.js'
import { caution, fault, sound, type DoctorFinding } from './doctor-finding.js'

/** Limits of one request, of all of them (ms), and of an answer (bytes). */
const REQUEST_MS = 10_000
const TOTAL_MS = 120_000
const MAX_BYTES = 256 * 1024

/** How many listed routes are asked. */
const MAX_ROUTES = 50

/** How many of the routes that share a finding are named. */
const MAX_PLACES = 3

/** Checks one route, or all that `/.well-known/x402` of an origin lists. */
export async function checkPublic(
  url: URL,
  { signal, showProgress }: Pick<CliContext, 'signal' | 'showProgress'>,
): Promise<readonly DoctorFinding[]> {
  const end = world.elapsed() + TOTAL_MS
  const ask: Ask = (target, method, headers = {}) =>
    fetchJson(target.href, {
      headers,
      ...(method === 'POST' && { body: {} }),
      ...((method === 'HEAD' || method === 'OPTIONS') && { method }),
      timeoutMs: Math.max(1, Math.min(REQUEST_MS, end - world.elapsed())),
      maxBytes: MAX_BYTES,
    })
  const checked: CheckedRoute[] = [{ place: url.origin, findings: checkHost(url) }]
  const isOrigin = url.pathname === '/' && url.search === ''
  const listing = isOrigin ? await readWellKnown(url, ask) : undefined
  if (listing !== undefined) checked.push(listing)
  const routes = listing?.routes ?? [{ url }]
  for (const [index, route] of routes.entries()) {
    if (signal.aborted) throw new Error('Interrupted.')
    if (world.elapsed() >= end) {
      const message = `${counted(routes.length - index, 'route')} not checked: time is up after ${TOTAL_MS / 1000} s.`
      checked.push({ place: url.origin, findings: [caution('route', 'timeout', message)] })
      break
    }
    showProgress?.(`Asking ${url.host}, ${index + 1} of ${routes.length} …`)
    checked.push(await checkRoute(route, ask))
  }
  return together(checked)
}

/** Names that the Internet does not have. */
const LOCAL_NAME = /^[^.]*\.?$|\.(?:localhost|local|internal|lan|home\.arpa|test)\.?$/

function checkHost(url: URL): readonly DoctorFinding[] {
  const literal = literalOf(url)
  const isPublic = literal ? isPublicAddress(literal) : !LOCAL_NAME.test(url.hostname)
  if (isPublic && url.protocol === 'https:') return []
  const message = 'is not HTTPS on a public host: catalogues refuse it.'
  return [fault('route', 'public_url_insecure', message)]
}

const pointer = { url: z.string(), method: z.string().optional() }

/** An entry that is neither a pointer nor complete is refused. */
const entrySchema = z.union([
  z.string(),
  z.strictObject({ ...pointer, description: z.string().optional() }),
  z.looseObject({ ...pointer, accepts: z.array(requirementsSchema).min(1) }),
])

const listingSchema = z.looseObject({ resources: z.array(entrySchema) })

type Listing = CheckedRoute & { readonly routes: readonly Route[] }

async function readWellKnown(origin: URL, ask: Ask): Promise<Listing> {
  const url = new URL('/.well-known/x402', origin)
  const answer = await ask(url, 'GET')
  const empty = { place: `GET ${url.href}`, routes: [] }
  if (answer.kind === 'no_response') return { ...empty, findings: [unreachable(answer.reason)] }
  const isFound = answer.kind === 'json' && answer.status === 200
  const parsed = parseDocument(listingSchema, isFound ? answer.document : undefined)
  if (!parsed.ok) {
    const entry = /^resources\.\d+/.exec(parsed.errors[0]?.path ?? '')?.[0]
    const message = entry
      ? `${entry} must be a URL, have url, method and description alone, or complete accepts.`
      : `answers ${answer.status} without a list of resources: app.use(gateway.discovery()), or give a route’s URL.`
    return { ...empty, findings: [fault('catalogue', 'catalogue_incomplete', message)] }
  }
  const { resources } = parsed.value
  const routes = resources.flatMap((entry) => routeOf(entry, origin)).slice(0, MAX_ROUTES)
  const skipped = resources.length - routes.length
  const message = `${skipped} of ${resources.length} resources not checked: only GET and POST of this host are, and ${MAX_ROUTES} at most.`
  const isWhole = skipped === 0 && routes.length > 0
  const finding = isWhole
    ? sound('catalogue', `lists ${counted(routes.length, 'route')}.`)
    : caution('catalogue', 'catalogue_incomplete', message)
  return { ...empty, findings: [finding], routes }
}

/** Another host may be inside the network of this machine, and other methods may do harm. */
function routeOf(entry: z.infer<typeof entrySchema>, { origin }: URL): readonly Route[] {
  const text =
    typeof entry === 'string' ? entry : [entry.method, entry.url].filter(Boolean).join(' ')
  const [, method, path = ''] = /^(?:([A-Z]+) +)?(\S+)$/.exec(text) ?? []
  if (!URL.canParse(path, origin)) return []
  const url = new URL(path, origin)
  const isAskable = method === undefined || method === 'GET' || method === 'POST'
  return url.origin === origin && path !== '' && isAskable ? [{ url, method }] : []
}

/** One finding for all routes that share it. */
function together(checked: readonly CheckedRoute[]): readonly DoctorFinding[] {
  const shared = new Map<
    string,
    { readonly finding: DoctorFinding; readonly places: Set<string> }
  >()
  for (const { place, findings } of checked)
    for (const finding of findings) {
      const key = `${finding.code} ${finding.message}`
      const { places } = shared.get(key) ?? { places: new Set() }
      shared.set(key, { finding, places: places.add(place) })
    }
  return [...shared.values()].map(({ finding, places }) => {
    const more = places.size > MAX_PLACES ? ` and ${places.size - MAX_PLACES} more` : ''
    const named = [...places].slice(0, MAX_PLACES).join(', ')
    return { ...finding, message: `${named}${more}: ${finding.message}` }
  })
}
