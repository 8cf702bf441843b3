import express from 'express'
import { FREE, GOODS, PAID, type ServerApp } from './setup.js'

/** Express alone, which answers what it was told to with `res.json`, without a thought. */
export const bare: ServerApp = async ({ answer }) => {
  const app = express()
  // Ours has no ETag; the bytes shall be the same.
  if (answer !== undefined) app.disable('etag')
  app.get(PAID, (_req, res) => {
    res
      .status(answer?.status ?? 402)
      .set(answer?.headers ?? {})
      .json(answer?.body)
  })
  app.get(FREE, (_req, res) => void res.json(GOODS))
  return app
}
