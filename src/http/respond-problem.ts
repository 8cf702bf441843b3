import type { Response } from 'express'
import { PROBLEM_JSON, problemDetails, type Problem, type ProblemExtensions } from './problem.js'

/** A problem with a request, thrown for the router's error handler to respond with. */
export class RequestProblem extends Error {
  constructor(
    readonly problem: Problem,
    readonly extensions: ProblemExtensions = {},
  ) {
    super(problem.detail)
  }
}

/** Responds with problem details (RFC 9457). Every error body of the package is written here. */
export function respondProblem(
  res: Response,
  problem: Problem,
  extensions?: ProblemExtensions,
): void {
  res.status(problem.status)
  res.set({ 'Content-Type': PROBLEM_JSON, 'Cache-Control': 'no-store' })
  res.end(JSON.stringify(problemDetails(problem, extensions)))
}
