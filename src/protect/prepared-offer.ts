/** The 402 of a route whose price is fixed: written when it is declared, but for URL and offer id. */
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import { newOfferId, OFFER_ID_LENGTH } from '../protocol/offer-id.js'
import type { PaymentRequired } from '../protocol/payment.js'
import {
  NOT_PAID,
  paymentRequired,
  sendPaymentRequired,
  type Asked,
  type WrittenDocument,
} from './answers.js'

/** Answers that a request is to be paid for. */
export type UnpaidAnswer = (req: Request, res: Response) => void

/** Bytes of a route's documents that are kept. */
const REMEMBERED = 128 * 1024

/** Stands for the URL: as JSON it is found nowhere before it. */
const PLACEHOLDER = '\0'

/** Stands for the offer id. */
const ID_PLACEHOLDER = '\0'

/** Writes a document for an offer id. */
export type DocumentWriter = (offerId: string) => WrittenDocument

/**
 * Prepares the answer to all requests that bring no payment.
 *
 * @param urlOf - The URL that a request asks for.
 */
export function prepareUnpaidAnswer(
  askedAt: (url: string) => Asked,
  urlOf: (req: Request) => string,
): UnpaidAnswer {
  const document = prepareDocument((url, id) => paymentRequired(askedAt(url), NOT_PAID, id))
  const writers = new LRUCache<string, DocumentWriter & { readonly bytes: number }>({
    maxSize: REMEMBERED,
    sizeCalculation: ({ bytes }) => bytes,
    memoMethod: (url) => document(url),
  })
  return (req, res) => sendPaymentRequired(res, writers.memo(urlOf(req))(newOfferId()))
}

/**
 * Writes a document as JSON, once for all URLs and offer ids.
 *
 * @param write - Makes the document; nothing in it before the URL holds a NUL.
 * @returns Prepares the document of a URL: to the byte what it would be without preparation.
 */
export function prepareDocument(
  write: (url: string, offerId: string) => PaymentRequired,
): (url: string) => DocumentWriter & { readonly bytes: number } {
  const json = JSON.stringify(write(PLACEHOLDER, ID_PLACEHOLDER))
  const gap = JSON.stringify(PLACEHOLDER)
  const start = json.indexOf(gap)
  const before = json.slice(0, start)
  // Quotes are escaped in all texts: as a member, the placeholder is found nowhere else.
  const [afterUrl = '', ...afterIds] = json
    .slice(start + gap.length)
    .split(`"offerId":${JSON.stringify(ID_PLACEHOLDER)}`)
  return (url) => prepareBytes(before + JSON.stringify(url) + afterUrl, afterIds)
}

/** Prepares the bytes of a document, in which only the id is written anew each time. */
function prepareBytes(
  start: string,
  afterIds: readonly string[],
): DocumentWriter & { readonly bytes: number } {
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
  const writer = (offerId: string): WrittenDocument => {
    for (const one of places) bytes.write(offerId, one, 'latin1')
    return { json: bytes.toString(encoding), header: bytes.toString('base64'), encoding }
  }
  return Object.assign(writer, { bytes: bytes.length })
}
