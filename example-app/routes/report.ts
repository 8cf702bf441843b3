/** Free for some, paid for by all others. */
import express, { type Request } from 'express'
import { z } from 'zod'
import type { Product } from '../product.js'

export const report: Product = {
  title: 'The report',
  about: 'Free for members, who send a key as X-API-Key; paid for by all others.',
  path: '/report',
  price: '$0.25',
  sell({ x402Protect, memberKeys }) {
    const isMember = (req: Request): boolean => memberKeys.has(req.get('x-api-key') ?? '')
    return express.Router().get(
      '/report',
      x402Protect('$0.25', {
        description: 'The report',
        output: z.object({ report: z.string() }),
        skip: isMember,
      }),
      (_req, res) => {
        res.json({ report: 'Umbrellas sell better when it rains.' })
      },
    )
  },
}
