/** The 402 of a route with a fixed price: prepared at declaration, except for URL and offer id. */
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import { newOfferId, OFFER_ID_LENGTH } from '../protocol/offer-id.js'
import type { PaymentRequired } from '../protocol/payment.js'
import { NOT_PAID, paymentRequired, writePaymentRequired } from './payment-required.js'
import type { AskedPayment, WrittenDocument } from './payment-required.js'

/** Responds with a 402 to a request without a payment. */
export type RespondUnpaid = (req: Request, res: Response) => void

/** Bytes of prepared documents that a route keeps, one per URL. */
const MAX_KEPT_BYTES = 128 * 1024

/** The same for all merchants of a route together: clients control both merchant and URL. */
const MAX_SHARED_BYTES = 1024 * 1024

/** Stands for the URL. A NUL cannot occur in the JSON before it. */
const PLACEHOLDER = '\0'

/** Stands for the offer id. */
const ID_PLACEHOLDER = '\0'

/** A document in which only the offer id is missing. */
export interface PreparedDocument {
  /** Size of the document. */
  readonly bytes: number
  /** Completes the document. */
  write(offerId: string): WrittenDocument
}

/** Keeps the documents that one preparation makes, by URL. */
export type DocumentKeeper = (
  prepare: (url: string) => PreparedDocument,
) => (url: string) => PreparedDocument

/** Keeps documents apart for each preparation, in one memory of {@link MAX_SHARED_BYTES}. */
export function shareDocuments(): DocumentKeeper {
  const documents = newDocuments(MAX_SHARED_BYTES)
  let preparations = 0
  return (prepare) => keepIn(documents, `${++preparations} `, prepare)
}

/** Keeps documents in a memory of their own. */
const keepOwn: DocumentKeeper = (prepare) => keepIn(newDocuments(MAX_KEPT_BYTES), '', prepare)

function newDocuments(maxSize: number): LRUCache<string, PreparedDocument> {
  return new LRUCache({ maxSize, sizeCalculation: ({ bytes }) => bytes })
}

function keepIn(
  documents: LRUCache<string, PreparedDocument>,
  prefix: string,
  prepare: (url: string) => PreparedDocument,
): (url: string) => PreparedDocument {
  return (url) => {
    const key = prefix + url
    const kept = documents.get(key)
    if (kept !== undefined) return kept
    const document = prepare(url)
    documents.set(key, document)
    return document
  }
}

/** What a 402 is prepared from. */
export interface AskingRoute {
  /** What the route asks for, at a URL. */
  readonly askedAt: (url: string) => AskedPayment
  /** The URL that a request asks for. */
  readonly urlOf: (req: Request) => string
  /** @defaultValue a memory of its own */
  readonly keeper?: DocumentKeeper | undefined
}

/** Prepares the 402 of a route, with the same bytes as `askForPayment` sends. */
export function preparePaymentRequired({
  askedAt,
  urlOf,
  keeper = keepOwn,
}: AskingRoute): RespondUnpaid {
  const prepare = prepareDocument((url, id) =>
    paymentRequired(askedAt(url), { error: NOT_PAID }, id),
  )
  const documentAt = keeper(prepare)
  return (req, res) => writePaymentRequired(res, documentAt(urlOf(req)).write(newOfferId()))
}

/**
 * Prepares a document for all URLs and offer ids.
 *
 * @param write - Makes the document. Nothing in it before the URL may contain a NUL.
 * @returns Prepares the document of one URL.
 */
export function prepareDocument(
  write: (url: string, offerId: string) => PaymentRequired,
): (url: string) => PreparedDocument {
  const json = JSON.stringify(write(PLACEHOLDER, ID_PLACEHOLDER))
  const gap = JSON.stringify(PLACEHOLDER)
  const start = json.indexOf(gap)
  const before = json.slice(0, start)
  // Quotes are escaped inside JSON strings, so that only the member itself can match.
  const [afterUrl = '', ...afterIds] = json
    .slice(start + gap.length)
    .split(`"offerId":${JSON.stringify(ID_PLACEHOLDER)}`)
  return (url) => prepareBytes(before + JSON.stringify(url) + afterUrl, afterIds)
}

/** Prepares the bytes of a document, into which the ids are written each time. */
function prepareBytes(start: string, afterIds: readonly string[]): PreparedDocument {
  const opening = '"offerId":"'
  const blank = `${opening}${' '.repeat(OFFER_ID_LENGTH)}"`
  const bytes = Buffer.from([start, ...afterIds].join(blank), 'utf8')
  const places: number[] = []
  let place = Buffer.byteLength(start)
  for (const piece of afterIds) {
    places.push(place + opening.length)
    place += blank.length + Buffer.byteLength(piece)
  }
  const isAscii = bytes.length === bytes.toString('utf8').length
  const encoding = isAscii ? 'latin1' : 'utf8'
  return {
    bytes: bytes.length,
    write(offerId) {
      for (const one of places) bytes.write(offerId, one, 'latin1')
      return { json: bytes.toString(encoding), header: bytes.toString('base64'), encoding }
    },
  }
}
