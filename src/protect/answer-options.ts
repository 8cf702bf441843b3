import type { Request, Response } from 'express'

/** What is said of a handler that takes all methods, or of which nothing is known. */
const ANY_METHOD = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * Answers OPTIONS in place of a paid handler, which it would reach unpaid through `app.all`,
 * `app.use` or a method override. What a `cors()` in front has set stays.
 */
export function answerOptions(req: Request, res: Response): void {
  res.setHeader('Allow', [...methodsOf(req), 'OPTIONS'].join(', '))
  res.statusCode = 204
  res.end()
}

/** The methods of the matched route, where Express has one. */
function methodsOf({ route }: Request): readonly string[] {
  const { methods = {} } = (route ?? {}) as { methods?: Readonly<Record<string, boolean>> }
  const named = Object.keys(methods)
    .map((name) => name.toUpperCase())
    .filter((name) => name !== '_ALL' && name !== 'OPTIONS')
  // `app.all` names all that Node knows.
  if (named.length === 0 || ANY_METHOD.every((name) => named.includes(name))) return ANY_METHOD
  const withHead = named.includes('GET') ? ['GET', 'HEAD', ...named] : named
  return [...new Set(withHead)]
}
