import type { Response } from 'express'
import { STATUS, type Face, type ProblemCode } from './problem-status.js'
import { PROBLEM_JSON, problemDetails, type ProblemExtensions } from './problem.js'

/** A problem to respond with. Its code decides the status. */
export interface Problem {
  readonly code: ProblemCode
  /** What was wrong, and how to fix it. */
  readonly detail: string
  readonly extensions?: ProblemExtensions | undefined
}

/** A problem with a request, thrown for the router's error handler to respond with. */
export class RequestProblem extends Error implements Problem {
  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    readonly extensions?: ProblemExtensions,
  ) {
    super(detail)
  }
}

/** Responds with problem details (RFC 9457). Every error body of the package is written here. */
export function respondProblem(res: Response, face: Face, problem: Problem): void {
  const { code, detail, extensions } = problem
  const status = STATUS[code][face]
  res.status(status)
  res.set({ 'Content-Type': PROBLEM_JSON, 'Cache-Control': 'no-store' })
  res.end(JSON.stringify(problemDetails({ status, code, detail }, extensions)))
}
