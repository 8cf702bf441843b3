/** A price that follows the request. What cannot be sold is refused before it asks for money. */
import express, { type Request } from 'express'
import { paidRequest } from 'express-x402-gateway'
import { z } from 'zod'
import type { Product } from '../product.js'

const MAX_WORDS = 1000
const DEFAULT_WORDS = 20
const HEADLINES = ['Local', 'cloud', 'promises', 'rain,', 'keeps', 'word.']

/** A request that does not fit gets a 400 with what is wrong. Agents read the same schema. */
const input = {
  query: z.object({
    words: z.coerce.number().int().min(1).max(MAX_WORDS).default(DEFAULT_WORDS),
  }),
}
const output = z.object({ headlines: z.string(), paid: z.string() })

export const headlines: Product = {
  title: 'Headlines',
  about: 'A price for each request: a tenth of a cent a word.',
  path: '/headlines?words=20',
  price: '$0.02',
  sell: ({ x402Protect }) =>
    express
      .Router()
      .get(
        '/headlines',
        x402Protect(priceOfWords, { description: 'Headlines by the word', input, output }),
        (req, res) => {
          const { words: length } = paidRequest(req).input.query
          const words = Array.from({ length }, (_, n) => HEADLINES[n % HEADLINES.length])
          res.json({ headlines: words.join(' '), paid: `${paidRequest(req).amount} units` })
        },
      ),
}

/** The words were checked before. */
function priceOfWords(req: Request): string {
  return `$${(Number(req.query['words'] ?? DEFAULT_WORDS) / 1000).toFixed(3)}`
}
