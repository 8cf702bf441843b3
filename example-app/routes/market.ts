/** Several merchants: the request says who is paid. */
import express, { type RequestHandler } from 'express'
import { paidRequest } from 'express-x402-gateway'
import type { Product } from '../product.js'

/** What each merchant sells. Merchants are projects of the gateway. */
const STALLS: ReadonlyMap<string, string> = new Map([
  ['shop', 'an umbrella stand'],
  ['bakery', 'a pretzel'],
])

export const market: Product = {
  title: 'The market',
  about: 'Several merchants on one gateway: this purchase pays the bakery.',
  path: '/market/bakery',
  price: '$0.03',
  sell: ({ x402Protect }) =>
    express
      .Router()
      .get(
        '/market/:stall',
        requireStall,
        x402Protect('$0.03', { merchant: (req) => String(req.params['stall']) }),
        (req, res) => {
          const { payTo } = paidRequest(req).requirements
          res.json({ sold: STALLS.get(String(req.params['stall'])), paidTo: payTo })
        },
      ),
}

const requireStall: RequestHandler = (req, res, next) => {
  if (STALLS.has(String(req.params['stall']))) return next()
  res.status(404).json({ error: 'There is no such stall.' })
}
