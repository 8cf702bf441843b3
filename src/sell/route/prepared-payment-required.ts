/** The 402 of a route with a fixed price: its JSON is kept for each URL, but for the offer id. */
import type { Response } from 'express'
import { LRUCache } from 'lru-cache'
import { newOfferId } from '../../shared/protocol/offer-id.js'
import { challengeIn } from './payment-dialect.js'
import { NOT_PAID, paymentRequired, writePaymentRequired } from './payment-required.js'
import type { AskedPayment } from './payment-required.js'
import type { RequestView } from './request-view.js'

export type RespondUnpaid = (view: RequestView, res: Response) => void

/** A document, and the body beside it where that is another one. */
interface PreparedDocument {
  /** The pieces between its offer ids. */
  readonly pieces: readonly string[]
  readonly body: string | undefined
  /** Whether its offers have to be signed again. @defaultValue they are not signed */
  readonly isOld?: (() => boolean) | undefined
}

export type PreparedDocuments = LRUCache<string, PreparedDocument>

/** Characters that one route keeps, and those that a route keeps for all its merchants. */
export const MOST_PREPARED = { ofRoute: 128 * 1024, ofMerchants: 1024 * 1024 }

/** Makes room for prepared documents. Strangers choose the URLs. */
export function newDocuments(maxSize: number): PreparedDocuments {
  return new LRUCache({
    maxSize,
    sizeCalculation: ({ pieces, body = '' }, key) =>
      pieces.reduce((length, piece) => length + piece.length, key.length + body.length),
  })
}

export interface AskingRoute {
  readonly askedAt: (url: string, view: RequestView) => AskedPayment
  readonly urlOf: (view: RequestView) => string
  /** What the 402 depends on besides the URL. @defaultValue nothing */
  readonly variantOf?: ((view: RequestView) => string) | undefined
  /** @defaultValue room of its own */
  readonly documents?: PreparedDocuments | undefined
}

let preparations = 0

/**
 * Prepares the 402 of a route, with the same bytes as `askForPayment` sends.
 *
 * Of the 158 µs of CPU that a 402 takes, making its document takes 1.2 in place of 6 with one token, and 1.8 in
 * place of 14 with four (Node 20).
 */
export function preparePaymentRequired({
  askedAt,
  urlOf,
  variantOf,
  documents = newDocuments(MOST_PREPARED.ofRoute),
}: AskingRoute): RespondUnpaid {
  const own = ++preparations
  return (view, res) => {
    const url = urlOf(view)
    const key = variantOf ? `${own} ${variantOf(view)} ${url}` : `${own} ${url}`
    let prepared = documents.get(key)
    if (prepared === undefined || prepared.isOld?.() === true)
      documents.set(key, (prepared = prepareDocument(askedAt(url, view))))
    const header = prepared.pieces.join(newOfferId())
    writePaymentRequired(res, { header, body: prepared.body ?? header })
  }
}

/** The JSON of a document, in the pieces between its offer ids, and the body beside it. */
export function prepareDocument(asked: AskedPayment): PreparedDocument {
  // It is random: no part of the document happens to contain it.
  const id = newOfferId()
  const document = paymentRequired(asked, { error: NOT_PAID }, id)
  const { header, body } = challengeIn(asked.dialects, document)
  const isOld = asked.issuer?.watchOffers(asked.accepts)
  return { pieces: header.split(id), body: body === header ? undefined : body, isOld }
}
