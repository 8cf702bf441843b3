import type { Request, RequestHandler, Response } from 'express'
import type { OpenRequests } from './open-requests.js'

/** Makes the JSON document of a response. */
export type Produce<Context> = (
  context: Context,
  req: Request,
  res: Response,
) => object | Promise<object>

/**
 * Makes a handler that responds with a JSON document.
 *
 * @param produce - Makes the document. Its errors go to the error handler, with Express 4 too.
 */
export function respondJson<Context extends { readonly requests: OpenRequests }>(
  context: Context,
  produce: Produce<Context>,
): RequestHandler {
  return function respond(req, res, next) {
    const producing = Promise.resolve().then(() => produce(context, req, res))
    context.requests
      .during(producing)
      .then((document) => writeJson(res, document))
      .catch(next)
  }
}

/** Like `res.json`, in one write and without an ETag: nothing may be cached. */
function writeJson(res: Response, document: object): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  // Each response belongs to one project and may contain the host of its request.
  res.setHeader('Cache-Control', 'no-store')
  res.end(JSON.stringify(document))
}
