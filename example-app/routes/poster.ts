/** A file. Any handler can be sold: `res.download` and `express.static` as well. */
import express from 'express'
import { z } from 'zod'
import type { Product } from '../product.js'

const POSTER = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 120">
  <path d="M10 60a50 50 0 0 1 100 0z" fill="#0b6e4f"/>
  <path d="M60 60v40a10 10 0 0 1-20 0" fill="none" stroke="#333" stroke-width="6"/>
</svg>
`

export const poster: Product = {
  title: 'A poster',
  about: 'A file to download.',
  path: '/poster',
  price: '$0.10',
  sell: ({ x402Protect }) =>
    express.Router().get(
      '/poster',
      x402Protect('$0.10', {
        description: 'A poster of an umbrella',
        mimeType: 'image/svg+xml',
        output: z.string(),
      }),
      (_req, res) => {
        res.attachment('umbrella.svg').send(POSTER)
      },
    ),
}
