import express from 'express'
import { heapAfterCollection } from './heap.js'
import { FREE, GOODS, PAID, type ServerApp } from './setup.js'

/** Express alone, which answers what it was told to with `res.json`, without a thought. */
export const bare: ServerApp = async ({ answer, heap = 0 }) => {
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
  app.locals['ballast'] = await ballast(heap)
  return app
}

/** Small objects, so many that there is no less in use than that. */
async function ballast(bytes: number): Promise<readonly object[]> {
  const objects: object[] = []
  while ((await heapAfterCollection()) < bytes)
    for (let one = 0; one < 10_000; one++) objects.push({ one, of: [one] })
  return objects
}
