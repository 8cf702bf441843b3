/** Checks the document of a 402 as clients, facilitators and catalogues read it. */
import { isDeepStrictEqual } from 'node:util'
import { runInNewContext } from 'node:vm'
import { z } from 'zod'
import { findKnownAsset, isDefaultAsset } from '../../../shared/money/assets.js'
import { compare } from '../../../shared/money/decimal.js'
import type { JsonResponse } from '../../../shared/http/fetch-json.js'
import { parseDocument, type Parsed } from '../../../shared/protocol/document.js'
import {
  CLIENT_HEADER_BYTES,
  decodeHeader,
  PAYMENT_REQUIRED,
} from '../../../shared/protocol/headers.js'
import { findNetwork, knownNetworks } from '../../../shared/protocol/networks.js'
import {
  BAZAAR,
  requirementsSchema,
  versionOf,
  X402_VERSION,
} from '../../../shared/protocol/payment.js'
import { isPermit2 } from '../../../shared/protocol/same-offer.js'
import { visible } from '../../../shared/protocol/visible-text.js'
import { amountOf, describeOffer } from '../pay/choose-offer.js'
import { caution, fault, sound, type DoctorFinding } from './doctor-finding.js'

/** Longest description (code points): Coinbase's facilitator refuses every payment beyond it. */
const MAX_DESCRIPTION = 500

/** Time for a schema, which the server has written (ms). */
const MAX_SCHEMA_MS = 1000

const entrySchema = requirementsSchema.extend({
  amount: requirementsSchema.shape.amount.regex(/^[1-9]/, 'must be more than 0'),
  payTo: requirementsSchema.shape.payTo.regex(/[1-9a-f]/i, 'must not be the zero address'),
  network: z
    .string()
    .refine((id) => findNetwork(id)?.caip2 === id, 'must be CAIP-2, like eip155:8453'),
})

const object = z.looseObject({})
const info = z.looseObject({ input: object, output: object.optional() })
const bazaar = z.looseObject({ info, schema: object })

const documentSchema = z.looseObject({
  x402Version: z.literal(X402_VERSION),
  resource: z.looseObject({ url: z.url(), description: z.string().optional() }),
  accepts: z.array(entrySchema).min(1),
  extensions: z.looseObject({ [BAZAAR]: bazaar.optional() }).optional(),
})

type Required = z.infer<typeof documentSchema>
type Entry = Required['accepts'][number]

export interface Asked {
  readonly url: URL
  readonly method: string
}

type Answer = Extract<JsonResponse, { readonly kind: 'json' | 'no_json' }>

const malformed = (message: string): DoctorFinding => fault('route', 'offer_malformed', message)
const unusual = (message: string): DoctorFinding => caution('route', 'offer_unusual', message)

export function checkOffer(answer: Answer, asked: Asked): readonly DoctorFinding[] {
  const header = answer.headers.get(PAYMENT_REQUIRED) ?? ''
  const decoded = decodeHeader(header)
  if (!decoded.ok)
    return [malformed(`PAYMENT-REQUIRED cannot be read: ${decoded.problem}. Does a proxy drop it?`)]
  const parsed = parseDocument(documentSchema, decoded.value)
  if (!parsed.ok)
    return parsed.errors.map(({ path, message }) =>
      malformed(`${path || 'the document'} in PAYMENT-REQUIRED ${message}.`),
    )
  return [
    ...checkForm(answer, header, decoded.value),
    ...checkResource(parsed.value, asked),
    ...parsed.value.accepts.flatMap(checkEntry),
    ...checkBazaar(parsed.value, asked),
  ]
}

function checkForm(answer: Answer, header: string, document: unknown): readonly DoctorFinding[] {
  const found: DoctorFinding[] = []
  if (Buffer.from(header, 'base64').toString('base64') !== header)
    found.push(malformed('PAYMENT-REQUIRED is not standard base64 with padding.'))
  if (header.length > CLIENT_HEADER_BYTES) {
    const message = `PAYMENT-REQUIRED has ${header.length} bytes, and some clients refuse more than ${CLIENT_HEADER_BYTES}: shorten descriptions and schemas, or offer fewer tokens.`
    found.push(caution('route', 'header_too_large', message))
  }
  // A body may also be of version 1, or say nothing.
  if (answer.kind === 'no_json')
    found.push(unusual('the body of its 402 is not JSON, and some catalogues read it.'))
  else if (
    versionOf(answer.document) === X402_VERSION &&
    !isDeepStrictEqual(answer.document, document)
  )
    found.push(malformed('the body of its 402 differs from PAYMENT-REQUIRED: send the same JSON.'))
  return found
}

function checkResource({ resource }: Required, { url }: Asked): readonly DoctorFinding[] {
  const { origin, protocol, host, pathname } = new URL(resource.url)
  const found: DoctorFinding[] = []
  // A query may be left out, and may be secret.
  if (origin !== url.origin || pathname !== url.pathname) {
    const message = `resource.url is ${visible(`${protocol}//${host}${pathname}`)}, not what was asked for: set publicUrl (X402_PUBLIC_URL).`
    found.push(malformed(message))
  }
  if (Array.from(resource.description ?? '').length > MAX_DESCRIPTION)
    found.push(unusual(`its description is longer than ${MAX_DESCRIPTION} characters: shorten it.`))
  return found
}

/** Checks the token of an entry, and what clients and catalogues think of its price. */
function checkEntry(entry: Entry): readonly DoctorFinding[] {
  const network = findNetwork(entry.network)
  const asset = network && findKnownAsset(network, entry.asset)
  const offer = describeOffer(entry, asset)
  const elsewhere = knownNetworks.find((one) => findKnownAsset(one, entry.asset))
  if (asset === undefined && elsewhere !== undefined) {
    const message = `${offer} is in a token of ${elsewhere.name}: correct the token or the network.`
    return [fault('route', 'token_missing', message)]
  }
  const { name, version } = entry.extra ?? {}
  const domain = asset?.eip712 ?? { name: String(name), version: String(version) }
  if (!isPermit2(entry) && (name !== domain.name || version !== domain.version)) {
    const message = `${offer} needs the token’s EIP-712 name and version in extra${asset ? `: '${domain.name}', '${domain.version}'` : ''}.`
    return [fault('route', 'token_domain_mismatch', message)]
  }
  const found: DoctorFinding[] = []
  if (network?.testnet !== false)
    found.push(unusual(`${offer} is play money: catalogues list real money.`))
  if (asset === undefined || !isDefaultAsset(asset))
    found.push(unusual(`${offer} is in a token that official clients refuse by default.`))
  else if (compare(amountOf(entry, asset), { units: 1n, scale: 0 }) > 0)
    found.push(unusual(`${offer} is above $1.00, which official clients refuse by default.`))
  return [...found, sound('route', `asks for ${offer}.`)]
}

/** Checks what catalogues list of a route: the extension `bazaar`. */
function checkBazaar({ extensions }: Required, { method }: Asked): readonly DoctorFinding[] {
  const described = extensions?.[BAZAAR]
  const found = described ? [...checkBySchema(described)] : []
  const { type, method: listed = method } = described?.info.input ?? {}
  if (type === 'http' && listed !== method)
    found.push(undescribed(`extensions.bazaar.info.input.method must be ${method}.`))
  if (described?.info.output === undefined) {
    const part = described === undefined ? 'input and output' : 'output'
    const message = `its 402 does not describe its ${part} (extensions.bazaar): declare input, output and examples, or catalogues may refuse it.`
    found.push(caution('route', 'bazaar_invalid', message))
  }
  return found
}

const undescribed = (message: string): DoctorFinding => fault('route', 'bazaar_invalid', message)

/** Facilitators check `info` by the schema beside it. */
function checkBySchema({ info: value, schema }: z.infer<typeof bazaar>): readonly DoctorFinding[] {
  const check = (): Parsed<unknown> => parseDocument(z.fromJSONSchema(schema), value)
  try {
    // Its limit also ends a regular expression that backtracks for ever.
    const parsed: Parsed<unknown> = runInNewContext(
      'check()',
      { check },
      { timeout: MAX_SCHEMA_MS },
    )
    if (parsed.ok) return []
    const words = parsed.errors.map(({ path, message }) => `${path} ${message}`).join(', ')
    return [undescribed(`extensions.bazaar.info contradicts its schema: ${visible(words)}.`)]
  } catch (error) {
    const message = `the schema in extensions.bazaar cannot be checked: ${visible((error as Error).message)}.`
    return [caution('route', 'bazaar_invalid', message)]
  }
}
