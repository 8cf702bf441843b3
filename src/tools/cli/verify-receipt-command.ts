import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { recoverAddress } from 'viem/utils'
import { z } from 'zod'
import { isLoopback } from '../../gateway/config/resolve/metrics.js'
import { findReceiver, literalOf, receiverRules } from '../../operate/webhooks/receiver-url.js'
import { addressOfPublicKey } from '../../shared/crypto/address-of-key.js'
import { OFFER_RECEIPT, proofDigest } from '../../shared/crypto/offer-receipt.js'
import { fetchJson } from '../../shared/http/fetch-json.js'
import { isHttpUrl } from '../../shared/http/http-url.js'
import { parseDocument } from '../../shared/protocol/document.js'
import { decodeHeader } from '../../shared/protocol/headers.js'
import { sameHex } from '../../shared/protocol/hex.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { visible } from '../../shared/protocol/visible-text.js'
import { EXIT, type Command } from './command.js'
import { readCommandLine, UsageError } from './flags.js'

const USAGE = `Usage: express-x402-gateway verify-receipt <receipt>

  Verifies a signed receipt: who signed it, for which resource and payer, and when. Exits with 0 if the DID
  document of the resource's site (/.well-known/did.json) names the signer, and with 1 otherwise.

  <receipt>   a PAYMENT-RESPONSE header, its JSON, the receipt in it, a file with one of these, or - for
              standard input`

const LIMITS = { timeoutMs: 10_000, maxBytes: 256 * 1024 }

const receiptSchema = z.looseObject({
  format: z.literal('eip712'),
  payload: z.looseObject({
    version: z.literal(1),
    network: z.string(),
    resourceUrl: z.string(),
    payer: z.string(),
    issuedAt: z.int().min(0).max(8.64e12),
    transaction: z.string(),
  }),
  signature: z.string().regex(/^0x[0-9a-fA-F]{130}$/, 'must be 0x and 130 hexadecimal digits'),
})

const publicKeyJwk = z.looseObject({ crv: z.string(), x: z.string(), y: z.string().optional() })
const didSchema = z.looseObject({
  id: z.string(),
  verificationMethod: z.array(z.looseObject({ publicKeyJwk: publicKeyJwk.optional() })),
})

export const verifyReceiptCommand: Command = {
  name: 'verify-receipt',
  summary: 'Verifies a signed receipt, and that its signer speaks for the site.',
  usage: USAGE,
  async run(args, { cwd, print }) {
    const [given, ...more] = readCommandLine(args, { names: [] }).words
    if (given === undefined || more.length > 0) throw new UsageError('One receipt is expected.')
    const { payload, signature } = readReceipt(await readGiven(given, cwd))
    const { resourceUrl, payer, network, issuedAt } = payload
    const hash = proofDigest('Receipt', payload)
    const signer = await recoverAddress({ hash, signature: signature as Hex }).catch(() => {
      throw new Error('Not valid: no key can have made this signature.')
    })
    print(`Signer    ${signer}`)
    print(`Resource  ${visible(resourceUrl, 2000)}`)
    print(`Payer     ${visible(payer)} on ${visible(network)}`)
    print(`Issued    ${new Date(issuedAt * 1000).toISOString()}`)
    const named = await fetchSigners(resourceUrl)
    if (!named.some((address) => sameHex(address, signer))) throw new Error(UNNAMED)
    // What a URL shows first may be a user name: "https://shop.example@other.example/".
    print(`Valid: ${new URL(resourceUrl).host} names this signer.`)
    return EXIT.ok
  },
}

const UNNAMED =
  'Not valid: the site does not name this signer. The receipt is forged, was changed, or is older than the key.'

async function readGiven(given: string, cwd: string): Promise<unknown> {
  const file = given === '-' ? text(process.stdin) : readFile(resolve(cwd, given), 'utf8')
  const written = await file.catch(() => given)
  const trimmed = written.trim().replace(/^(x-)?payment-response:\s*/i, '')
  try {
    if (trimmed.startsWith('{')) return JSON.parse(trimmed) as unknown
  } catch {
    throw new Error('This JSON cannot be read: it was cut or changed.')
  }
  const decoded = decodeHeader(trimmed)
  if (decoded.ok) return decoded.value
  throw new Error(`This is no file, no JSON and no PAYMENT-RESPONSE: ${decoded.problem}.`)
}

/** Finds the receipt in a document, which may be it. */
function readReceipt(document: unknown): z.output<typeof receiptSchema> {
  const { extensions, signature } = Object(document)
  const receipt: unknown = signature ? document : extensions?.[OFFER_RECEIPT]?.info?.receipt
  if (receipt === undefined)
    throw new Error('This has no signed receipt: the seller signs none, or has delivered nothing.')
  const parsed = parseDocument(receiptSchema, receipt)
  if (parsed.ok) return parsed.value
  throw new Error(`Not valid: ${parsed.errors[0]?.path} ${parsed.errors[0]?.message}.`)
}

/** Addresses of the keys that the site of a resource names. No site in a private network is asked, but this machine. */
async function fetchSigners(resourceUrl: string): Promise<readonly string[]> {
  const unknown = 'It is not known whether the signer speaks for the site'
  if (!isHttpUrl(resourceUrl)) throw new Error(`${unknown}: the resource is not on the web.`)
  const site = new URL(resourceUrl)
  const { origin, host, hostname } = site
  const url = `${origin}/.well-known/did.json`
  const isHere = isLoopback(literalOf(site) ?? hostname)
  const receiver = await findReceiver(url, receiverRules(isHere))
  if (receiver.kind === 'refused')
    throw new Error(`${unknown}: ${origin} is not an https site on the public Internet.`)
  const answer = await fetchJson(url, { headers: { Accept: 'application/json' }, ...LIMITS })
  const isFound = answer.kind === 'json' && answer.status === 200
  const did = parseDocument(didSchema, isFound ? answer.document : undefined)
  if (!did.ok || did.value.id !== `did:web:${encodeURIComponent(host)}`)
    throw new Error(`${unknown}: its DID document is not at ${url}.`)
  return did.value.verificationMethod.flatMap(({ publicKeyJwk: { crv, x = '', y = '' } = {} }) =>
    crv === 'secp256k1'
      ? [addressOfPublicKey(Buffer.concat([x, y].map((one) => Buffer.from(one, 'base64url'))))]
      : [],
  )
}
