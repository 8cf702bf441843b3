import type { Request, RequestHandler, Response } from 'express'

/** Answers with a JSON document; what its making throws goes to the error handler (Express 4 too). */
export function answerJson(
  produce: (req: Request, res: Response) => object | Promise<object>,
): RequestHandler {
  return function answer(req, res, next) {
    Promise.resolve()
      .then(() => produce(req, res))
      .then((document) => res.json(document))
      .catch(next)
  }
}
