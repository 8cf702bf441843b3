/** Several merchants: the request says who is paid. */
import express from 'express'
import { paidRequest } from 'express-x402-gateway'
import { z } from 'zod'
import type { Product } from '../product.js'

/** What each merchant sells. Merchants are projects of the gateway. */
const STALLS = { shop: 'an umbrella stand', bakery: 'a pretzel' }

const input = { params: z.object({ stall: z.enum(['shop', 'bakery'], 'There is no such stall') }) }
const output = z.object({ sold: z.string(), paidTo: z.string() })

export const market: Product = {
  title: 'The market',
  about: 'Several merchants on one gateway: this purchase pays the bakery.',
  path: '/market/bakery',
  price: '$0.03',
  sell: ({ x402Protect }) =>
    express.Router().get(
      '/market/:stall',
      x402Protect('$0.03', {
        description: 'What a stall of the market sells',
        input,
        output,
        examples: { params: { stall: 'bakery' } },
        merchant: (req) => String(req.params['stall']),
      }),
      (req, res) => {
        const { requirements, ...paid } = paidRequest(req)
        res.json({ sold: STALLS[paid.input.params.stall], paidTo: requirements.payTo })
      },
    ),
}
