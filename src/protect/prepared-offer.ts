/** The 402 of a route whose price is fixed: written when it is declared, but for the URL. */
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import type { PaymentRequired } from '../protocol/payment.js'
import {
  NOT_PAID,
  paymentRequired,
  sendPaymentRequired,
  writeDocument,
  type Asked,
  type WrittenDocument,
} from './answers.js'

/** Answers that a request is to be paid for. */
export type UnpaidAnswer = (req: Request, res: Response) => void

/** Characters of a route's documents that are kept. */
const REMEMBERED = 128 * 1024

/** Stands for the URL: as JSON it is found nowhere before it. */
const PLACEHOLDER = '\0'

/**
 * Prepares the answer to all requests that bring no payment.
 *
 * @param urlOf - The URL that a request asks for.
 */
export function prepareUnpaidAnswer(
  askedAt: (url: string) => Asked,
  urlOf: (req: Request) => string,
): UnpaidAnswer {
  const document = prepareDocument((url) => paymentRequired(askedAt(url), NOT_PAID))
  const written = new LRUCache<string, WrittenDocument>({
    maxSize: REMEMBERED,
    sizeCalculation: ({ json, header }) => json.length + header.length,
    memoMethod: (url) => writeDocument(document(url)),
  })
  return (req, res) => sendPaymentRequired(res, written.memo(urlOf(req)))
}

/**
 * Writes a document as JSON, once for all URLs.
 *
 * @param write - Makes the document; nothing in it before the URL holds a NUL.
 * @returns The JSON for a URL, to the byte what it would be without preparation.
 */
export function prepareDocument(write: (url: string) => PaymentRequired): (url: string) => string {
  const json = JSON.stringify(write(PLACEHOLDER))
  const gap = JSON.stringify(PLACEHOLDER)
  const start = json.indexOf(gap)
  const before = json.slice(0, start)
  const after = json.slice(start + gap.length)
  return (url) => before + JSON.stringify(url) + after
}
