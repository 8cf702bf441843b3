import type { Response } from 'express'
import { PROBLEM_JSON, problemDetails, type Problem } from './problem.js'

/** A problem that a request has, thrown to be answered by the router's error handler. */
export class RequestProblem extends Error {
  constructor(
    readonly problem: Problem,
    readonly extensions: { readonly [member: string]: unknown } = {},
  ) {
    super(problem.detail)
  }
}

/** Answers with problem details (RFC 9457). */
export function sendProblem(
  res: Response,
  problem: Problem,
  extensions?: { readonly [member: string]: unknown },
): void {
  res.status(problem.status)
  res.set({ 'Content-Type': PROBLEM_JSON, 'Cache-Control': 'no-store' })
  res.end(JSON.stringify(problemDetails(problem, extensions)))
}
