/** A price that follows the request. What cannot be sold is refused before it asks for money. */
import express, { type Request, type RequestHandler } from 'express'
import { paidRequest } from 'express-x402-gateway'
import type { Product } from '../product.js'

const MAX_WORDS = 1000
const HEADLINES = ['Local', 'cloud', 'promises', 'rain,', 'keeps', 'word.']

export const headlines: Product = {
  title: 'Headlines',
  about: 'A price for each request: a tenth of a cent a word.',
  path: '/headlines?words=20',
  price: '$0.02',
  sell: ({ x402Protect }) =>
    express.Router().get('/headlines', requireWords, x402Protect(priceOfWords), (req, res) => {
      const words = Array.from(
        { length: wordsWanted(req) },
        (_, n) => HEADLINES[n % HEADLINES.length],
      )
      res.json({ headlines: words.join(' '), paid: `${paidRequest(req).amount} units` })
    }),
}

const requireWords: RequestHandler = (req, res, next) => {
  const words = wordsWanted(req)
  if (Number.isInteger(words) && words > 0 && words <= MAX_WORDS) return next()
  res.status(400).json({ error: `?words= takes a whole number from 1 to ${MAX_WORDS}.` })
}

function priceOfWords(req: Request): string {
  return `$${(wordsWanted(req) / 1000).toFixed(3)}`
}

function wordsWanted(req: Request): number {
  return Number(req.query['words'])
}
