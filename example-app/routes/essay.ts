/** A web page. A browser that opens it without a payment is shown how to pay. */
import express from 'express'
import { z } from 'zod'
import type { Product } from '../product.js'

const ESSAY = `<!doctype html>
<html lang="en">
<title>On umbrellas</title>
<h1>On umbrellas</h1>
<p>An umbrella is worth most to whoever left it at home.</p>
<p><a href="">Receipt</a></p>
</html>
`

export const essay: Product = {
  title: 'An essay',
  about: 'A page of HTML. Open the link without paying: the 402 explains itself.',
  path: '/essay',
  price: '$0.02',
  sell: ({ x402Protect }) =>
    express.Router().get(
      '/essay',
      x402Protect('$0.02', {
        description: 'An essay on umbrellas',
        mimeType: 'text/html',
        output: z.string(),
      }),
      (_req, res) => {
        res.type('html').send(ESSAY)
      },
    ),
}
