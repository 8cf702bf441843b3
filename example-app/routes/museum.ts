/** A price in a currency that the merchant has no token for: a rate converts it, and the quote is signed. */
import express from 'express'
import { paidRequest } from 'express-x402-gateway'
import { z } from 'zod'
import type { Product } from '../product.js'

const output = z.object({ admits: z.number(), paid: z.string() })

export const museum: Product = {
  title: 'A museum ticket',
  about:
    'A price in euros, paid in USDC. The offer carries the price at the rate of this moment, signed.',
  path: '/museum',
  price: '€0.50',
  sell: ({ x402Protect }) =>
    express
      .Router()
      .get(
        '/museum',
        x402Protect('€0.50', { description: 'One visitor, today', output }),
        (req, res) => {
          res.json({ admits: 1, paid: `${paidRequest(req).amount} units of USDC` })
        },
      ),
}
