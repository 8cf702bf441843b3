/** One definition an endpoint: its routing, its checks and its description in OpenAPI follow from it. */
import type { Request, Response } from 'express'
import { z } from 'zod'
import type { Lazy } from '../../shared/http/lazy.js'
import type { ProblemCode } from '../../shared/http/problem-status.js'
import type { Scope } from '../../core/merchants/access.js'
import type { RouterContext } from '../context.js'
import type { MadeDocument } from '../documents/component.js'
import type { LimitName } from './rate-limit.js'
import type { RequestHeader, ResponseHeader, Tag } from './fixed-parts.js'

/** A method of an endpoint. GET includes HEAD. */
export type EndpointMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/**
 * Who may call an endpoint. `project`: with the token of a project. `merchant`: with that, or with a
 * merchant's session of the console. `admin`: with an admin token, or with an operator's session.
 * `session`: with a session only, which the endpoint looks for itself.
 */
export type Access = 'anyone' | 'project' | 'merchant' | 'admin' | 'session'

export interface Success {
  readonly description: string
  /** The JSON document; `undefined` where there is no body, or none of JSON. */
  readonly document?: Lazy<z.ZodType>
  /** Media type of the body. @defaultValue `application/json`, if there is a document */
  readonly type?: string
  readonly headers?: readonly ResponseHeader[]
}

/** A problem with members that it does not have everywhere. */
export interface ExtendedProblem {
  readonly code: ProblemCode
  /** Distinguishes it from the same problem at other endpoints. */
  readonly variant: string
  readonly members: Lazy<z.ZodRawShape>
}

export type EndpointProblem = ProblemCode | ExtendedProblem

/** A JSON body of a request. Unknown members are refused. */
export interface RequestBody<Schema extends z.ZodType = z.ZodType> {
  /** An object, or an intersection that begins with one. OpenAPI gets what `meta` says of its members. */
  readonly schema: Schema
  /** A whole body that shows how it is used. */
  readonly example: object
  /** Its form in version 1 of x402, for the description: such bodies are read by `handle`. */
  readonly version1?: z.ZodObject
  /** Members that are neither read nor refused; `'any'` for x402 documents, which may be extended anywhere. */
  readonly tolerates?: readonly string[] | 'any'
}

export interface Description {
  readonly method: EndpointMethod
  /** `{id}` stands for one segment. */
  readonly path: string
  /** Unique among all endpoints, for generated clients. */
  readonly id: string
  readonly tag: Tag
  readonly summary: string
  readonly description: string
  readonly access: Access
  /** What the caller must be allowed to do, where a token or a session is needed. */
  readonly scope?: Scope
  readonly params?: Readonly<Record<string, string>>
  readonly headers?: readonly RequestHeader[]
  /** By status. The first is the status of an answer, unless `handle` sets another. */
  readonly responses: Readonly<Record<number, Success>>
  /** Problems besides those that follow from access, placeholders, body and headers. */
  readonly problems?: readonly EndpointProblem[]
  /** A limit of its own, which it shares with the others that name it. */
  readonly limit?: LimitName
  readonly ignoresQuery?: boolean
  /** Parameters of the query. Others are refused, apart from `_`, by which some clients evade caches. */
  readonly query?: z.ZodObject
  readonly body?: RequestBody
}

export interface Call<Query = unknown, Body = unknown> {
  readonly req: Request
  readonly res: Response
  readonly query: Query
  readonly param: (name: string) => string
  /** Parses the body. @throws `RequestProblem` 400 with every invalid member */
  readonly readBody: () => Body
}

/** A request whose query and body nobody has looked at yet. */
export type EarlyCall = Pick<Call, 'req' | 'res' | 'param'>

/** The document that `handle` returns: `undefined` where there is none. */
type AnswerOf<Responses> = {
  [Status in keyof Responses]: Responses[Status] extends { readonly document: Lazy<infer Schema> }
    ? Schema extends z.ZodType
      ? MadeDocument<Schema>
      : never
    : undefined
}[keyof Responses]

export type Definition<
  Context,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Responses,
> = Description & {
  readonly query?: Query
  readonly body?: RequestBody<Body>
  readonly responses: Responses
  /** Finds whom the request is about, before its query and body are looked at. */
  readonly before?: (context: Context, call: EarlyCall) => void | Promise<void>
} & (
    { readonly access: 'anyone' | 'session'; readonly scope?: never } | { readonly scope: Scope }
  ) &
  (
    | {
        /** Answers the request. What it throws becomes problem details. */
        readonly handle: (
          context: Context,
          call: Call<z.output<Query>, z.output<Body>>,
        ) => AnswerOf<Responses> | Promise<AnswerOf<Responses>>
      }
    | {
        /** Writes the whole response. */
        readonly respond: (
          context: Context,
          call: Call<z.output<Query>, z.output<Body>>,
        ) => void | Promise<void>
      }
  )

/** An endpoint, as those who serve and describe it see it. */
export interface Endpoint<Context = RouterContext> extends Description {
  readonly before?: ((context: Context, call: EarlyCall) => void | Promise<void>) | undefined
  readonly handle?: ((context: Context, call: Call) => unknown) | undefined
  readonly respond?: ((context: Context, call: Call) => unknown) | undefined
}

/**
 * Defines an endpoint.
 *
 * `serve-endpoints.ts` serves it as it is described, and hands `handle` what `query` and `body` read.
 */
export function defineEndpoint<
  Responses,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodUndefined,
  Context = RouterContext,
>(definition: Definition<Context, Query, Body, Responses>): Endpoint<Context> {
  // A call is made from the query and the body of this very definition.
  return definition as unknown as Endpoint<Context>
}

/** The members of an object's schema. Of an intersection, they are in its first part. */
export function shapeOf(schema: z.ZodType): z.ZodRawShape {
  if (schema instanceof z.ZodObject) return schema.shape
  if (schema instanceof z.ZodIntersection) return shapeOf(schema.def.left as z.ZodType)
  throw new Error('The members of this schema are not known.')
}
