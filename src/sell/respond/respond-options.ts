import type { Request, Response } from 'express'

/** The methods of a handler that takes all of them, or whose methods are unknown. */
const ANY_METHOD = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * Responds to OPTIONS in place of a paid handler, which would otherwise run unpaid: `app.all`,
 * `app.use` and method overrides pass OPTIONS on. Headers of a `cors()` in front are kept.
 */
export function respondOptions(req: Request, res: Response): void {
  res.setHeader('Allow', [...methodsOf(req), 'OPTIONS'].join(', '))
  res.statusCode = 204
  res.end()
}

function methodsOf({ route }: Request): readonly string[] {
  const { methods = {} } = (route ?? {}) as { methods?: Readonly<Record<string, boolean>> }
  const named = Object.keys(methods)
    .map((name) => name.toUpperCase())
    .filter((name) => name !== '_ALL' && name !== 'OPTIONS')
  // `app.all` lists every method that Node knows.
  if (named.length === 0 || ANY_METHOD.every((name) => named.includes(name))) return ANY_METHOD
  const withHead = named.includes('GET') ? ['GET', 'HEAD', ...named] : named
  return [...new Set(withHead)]
}
