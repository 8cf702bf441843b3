/** How endpoints are described. `write-document.ts` turns the descriptions into OpenAPI. */
import type { z } from 'zod'
import type { ProblemCode } from '../../http/problem-status.js'

/** A schema of JSON Schema, draft 2020-12. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/** Under which heading an operation is listed. */
export type Tag =
  | 'Payments'
  | 'Merchant'
  | 'Settlements'
  | 'Refunds'
  | 'Webhooks'
  | 'Reports'
  | 'UCP'
  | 'Documentation'
  | 'Probes'
  | 'Admin: projects'
  | 'Admin: payments'
  | 'Admin: webhooks'
  | 'Admin: operations'
  | 'Console'

/**
 * Who may call an operation. `project`: with the token of a project. `merchant`: with that, or with a
 * merchant's session of the console. `admin`: with an admin token, or with an operator's session.
 * `session`: with a session only.
 */
export type Access = 'anyone' | 'project' | 'merchant' | 'admin' | 'session'

/** A parameter of the query. */
export interface Parameter {
  readonly name: string
  readonly description: string
  readonly schema: JsonSchema
}

/** A header of a request, which may be left out. */
export type RequestHeader = 'Idempotency-Key' | 'If-Match' | 'If-None-Match'

/** A header of a response, beside those that all have. */
export type ResponseHeader =
  'Retry-After' | 'ETag' | 'Location' | 'Content-Disposition' | 'Set-Cookie' | 'WWW-Authenticate'

/** A body of a request: JSON. */
export interface RequestBody {
  readonly schema: JsonSchema
  /** A whole body that shows how it is used. */
  readonly example: object
}

/** What an operation responds with on success. */
export interface Success {
  readonly description: string
  /** The JSON document; `undefined` where there is no body, or none of JSON. */
  readonly document?: z.ZodType
  /** Media type of the body. @defaultValue `application/json`, if there is a document */
  readonly type?: string
  readonly headers?: readonly ResponseHeader[]
}

/** A problem with members that it does not have everywhere. */
export interface ExtendedProblem {
  readonly code: ProblemCode
  /** Distinguishes it from the same problem at other operations. */
  readonly variant: string
  readonly members: z.ZodRawShape
}

/** A problem that an operation may respond with. */
export type OperationProblem = ProblemCode | ExtendedProblem

/** An operation: one method of one path. */
export interface Operation {
  /** Unique among all operations, for generated clients. */
  readonly id: string
  readonly tag: Tag
  readonly summary: string
  readonly description: string
  readonly access: Access
  /** What the placeholders of its path stand for. */
  readonly path?: Readonly<Record<string, string>>
  readonly query?: readonly Parameter[]
  readonly headers?: readonly RequestHeader[]
  readonly body?: RequestBody
  /** By status. */
  readonly responses: Readonly<Record<number, Success>>
  readonly problems: readonly OperationProblem[]
}

/** Operations by method and path: `GET /ucp/schema.json`. */
export type Operations = Readonly<Record<string, Operation>>
