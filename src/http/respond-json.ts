import type { Request, RequestHandler, Response } from 'express'

/** Answers with a JSON document; what its making throws goes to the error handler (Express 4 too). */
export function answerJson(
  produce: (req: Request, res: Response) => object | Promise<object>,
): RequestHandler {
  return function answer(req, res, next) {
    Promise.resolve()
      .then(() => produce(req, res))
      .then((document) => sendJson(res, document))
      .catch(next)
  }
}

/** Like Express's `res.json`, but without an ETag, which nobody may keep, and in one write. */
function sendJson(res: Response, document: object): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  // Answers are one project's, and may name the host that its request named.
  res.setHeader('Cache-Control', 'no-store')
  res.end(JSON.stringify(document))
}
