/** A stream. It is paid for up front, since an answer cannot be taken back once it flows. */
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import express from 'express'
import { paidRequest } from 'express-x402-gateway'
import { z } from 'zod'
import type { Product } from '../product.js'

const STORY = ['Once there was a robot.', 'It had a wallet.', 'It paid for this line.']
const PAUSE_MS = 150

export const story: Product = {
  title: 'A story, line by line',
  about: 'A stream, settled before its first line.',
  path: '/story',
  price: '$0.05',
  sell: ({ x402Protect }) =>
    express.Router().get(
      '/story',
      x402Protect('$0.05', {
        description: 'A story, line by line',
        mimeType: 'text/plain',
        output: z.string(),
        paymentFlow: 'upfront',
      }),
      (req, res) => {
        Readable.from(tellStory(paidRequest(req).transaction)).pipe(res.type('text/plain'))
      },
    ),
}

async function* tellStory(transaction = ''): AsyncGenerator<string> {
  yield `Paid by transaction ${transaction}.\n`
  for (const line of STORY) {
    await wait(PAUSE_MS)
    yield `${line}\n`
  }
}
