/** A fixed price: one line makes a route cost a cent. */
import express from 'express'
import { paidRequest } from 'express-x402-gateway'
import { z } from 'zod'
import type { Product } from '../product.js'

/** What agents and catalogues read about the answer. */
const output = z.object({ city: z.string(), celsius: z.number(), paidBy: z.string() })

export const weather: Product = {
  title: 'The weather',
  about:
    'A fixed price. The money moves when the answer is good: a handler that fails costs nothing.',
  path: '/weather',
  price: '$0.01',
  sell: ({ x402Protect }) =>
    express
      .Router()
      .get(
        '/weather',
        x402Protect('$0.01', { description: 'Weather in Berlin', output, tags: ['weather'] }),
        (req, res) => {
          res.json({ city: 'Berlin', celsius: 21, paidBy: paidRequest(req).payer })
        },
      ),
}
