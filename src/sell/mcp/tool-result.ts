/** The results of paid tools: which can be sold, and what is answered in place of one. */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { problemDetails, type Problem } from '../../shared/http/respond-problem.js'
import { STATUS } from '../../shared/http/problem-status.js'
import { PAYMENT_RESPONSE, X_PAYMENT } from '../../shared/protocol/headers.js'
import { decodeJson, PAYMENT_RECEIPT } from '../../shared/protocol/mpp.js'
import { problemOf } from '../flow/exit-problems.js'
import type { Exit } from '../flow/exits.js'
import { ANSWER_NOT_KEPT, readStored } from '../respond/stored-response.js'
import type { Offer } from '../route/offer.js'
import { challengeIn, type Receipt } from '../route/payment-dialect.js'
import { paymentRequired, type Asking } from '../route/payment-required.js'
import type { ToolCall } from './tool-call.js'
import type { ToolResult, ToolSchema } from './tool-options.js'

/** As SDKs check it. A pattern takes too deep a stack for megabytes. */
const base64 = z.string().refine((text) => {
  try {
    return atob(text) !== undefined
  } catch {
    return false
  }
})
const words = z.string().optional()
const members = z.record(z.string(), z.unknown())
const annotations = z.looseObject({
  audience: z.array(z.enum(['user', 'assistant'])).optional(),
  priority: z.number().min(0).max(1).optional(),
  lastModified: z.iso.datetime({ offset: true }).optional(),
})
const block = { annotations: annotations.optional(), _meta: members.optional() }
const media = { ...block, data: base64, mimeType: z.string() }
const resource = { uri: z.string(), mimeType: words, _meta: members.optional() }
const icon = z.looseObject({
  src: z.string(),
  mimeType: words,
  sizes: z.array(z.string()).optional(),
  theme: z.enum(['light', 'dark']).optional(),
})
const link = {
  ...block,
  ...resource,
  name: z.string(),
  title: words,
  description: words,
  size: z.number().optional(),
  icons: z.array(icon).optional(),
}
const resultMeta = z.looseObject({
  progressToken: z.union([z.string(), z.number().int()]).optional(),
  'io.modelcontextprotocol/related-task': z.looseObject({ taskId: z.string() }).optional(),
})

/** Results that SDKs accept. They check after the handler has answered, when it would be paid for. */
const resultSchema = z.looseObject({
  content: z
    .array(
      z.discriminatedUnion('type', [
        z.looseObject({ ...block, type: z.literal('text'), text: z.string() }),
        z.looseObject({ type: z.enum(['image', 'audio']), ...media }),
        z.looseObject({ type: z.literal('resource_link'), ...link }),
        z.looseObject({
          ...block,
          type: z.literal('resource'),
          resource: z.union([
            z.looseObject({ ...resource, text: z.string() }),
            z.looseObject({ ...resource, blob: base64 }),
          ]),
        }),
      ]),
    )
    .optional(),
  structuredContent: members.optional(),
  isError: z.boolean().optional(),
  _meta: resultMeta.optional(),
})

/** Why a result would not reach its client; `undefined` if it does. */
export async function whyUnsendable(
  result: ToolResult,
  output: ToolSchema | undefined,
): Promise<string | undefined> {
  const read = resultSchema.safeParse(result)
  if (!read.success) return `is no result of a tool: ${z.prettifyError(read.error)}`
  const { structuredContent } = read.data
  if (output === undefined) return undefined
  if (structuredContent === undefined) return 'has no structuredContent'
  // As it is here, which the server's SDK checks, and as it is sent: clients check that by the schema's JSON form.
  const sent = JSON.parse(JSON.stringify(structuredContent)) as typeof structuredContent
  const fits =
    (await readBy(output, structuredContent)) !== undefined &&
    isDeepStrictEqual(await readBy(output, sent), sent)
  return fits ? undefined : 'has structuredContent that does not fit `output` as it is'
}

interface Schema {
  readonly '~standard': { validate(value: unknown): object | Promise<object> }
}

/** Parses a value: with the schema's defaults, and without members that it does not name. `undefined` if it does not fit. */
async function readBy(
  output: ToolSchema,
  value: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  if ('~standard' in output) return (await validate(output as Schema, value))?.value
  const read: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(output)) {
    const member = await validate(schema as Schema, value[name])
    if (member === undefined) return undefined
    if (member.value !== undefined) read[name] = member.value
  }
  return read
}

interface Validated {
  readonly value?: unknown
  readonly issues?: unknown
}

async function validate(schema: Schema, value: unknown): Promise<Validated | undefined> {
  const validated: Validated = await schema['~standard'].validate(value)
  return validated.issues === undefined ? validated : undefined
}

export function withReceipt(result: ToolResult, receipt: Receipt, call: ToolCall): ToolResult {
  const text = Buffer.from(receipt[PAYMENT_RESPONSE] ?? '', 'base64').toString()
  const settlement = JSON.parse(text) as object
  const ofMpp = receipt[PAYMENT_RECEIPT]
  const _meta = {
    ...result._meta,
    'x402/payment-response': settlement,
    ...(call.header(X_PAYMENT) !== undefined && { 'x402.payment-response': settlement }),
    ...(ofMpp !== undefined && { 'org.paymentauth/receipt': decodeJson(ofMpp) }),
  }
  return { ...result, _meta }
}

interface AnsweredCall {
  readonly call: ToolCall
  readonly hasOutput: boolean
}

/** The result that answers a call in place of its handler's. */
export function resultOf(exit: Exit, answered: AnsweredCall): ToolResult {
  const { call } = answered
  switch (exit.kind) {
    case 'payment_required':
      return askForPayment(exit.offer, exit, answered)
    case 'not_settled': {
      const { errorReason: error, errorMessage: message } = exit.settlement
      const asking = askForPayment(exit.offer, { error, message }, answered)
      return withReceipt(asking, exit.receipt, call)
    }
    case 'settlement_pending':
      return withReceipt(problemResult(problemOf(exit)), exit.receipt, call)
    case 'repeated': {
      const { body, receipt } = readStored(exit.stored)
      const result = body
        ? (JSON.parse(body.toString()) as ToolResult)
        : problemResult(ANSWER_NOT_KEPT)
      return withReceipt(result, receipt, call)
    }
    case 'rate_limited':
      return problemResult({
        code: 'rate_limited',
        detail: `More than ${exit.limit} calls in ${exit.windowMs / 1000} s, by ${exit.by}; this one charged nothing. Present the same payment again later.`,
      })
    // Nobody is there to read it.
    case 'over':
    case 'undelivered':
      return { content: [], isError: true }
    default:
      return problemResult(problemOf(exit))
  }
}

/** Asks in the words of all clients at once; see `sell/README.md`. */
function askForPayment(
  offer: Offer,
  asking: Asking,
  { call, hasOutput }: AnsweredCall,
): ToolResult {
  const document = paymentRequired(offer, asking)
  const { header: json, body, challenges = [], problem } = challengeIn(offer.dialects, document)
  const ofMpp = challenges.length > 0 && {
    'org.paymentauth/payment-required': {
      httpStatus: 402,
      challenges: challenges.map((one) => ({ ...one, request: decodeJson(one.request) })),
      problem,
    },
  }
  if (call.speaksExtension)
    return {
      resultType: 'payment_required',
      paymentRequired: document,
      // The SDK asks every other result for the structured content that `output` describes.
      ...(hasOutput && { isError: true }),
      ...(ofMpp && { _meta: ofMpp }),
    } as ToolResult
  const texts = body === json ? [json] : [json, body]
  const { x402Version, error, resource: sold, accepts, extensions } = document
  return {
    content: texts.map((text) => ({ type: 'text', text })),
    ...((!hasOutput || call.isModern) && { structuredContent: document }),
    isError: true,
    _meta: { 'x402/error': { x402Version, error, resource: sold, accepts, extensions }, ...ofMpp },
  }
}

export function problemResult(problem: Problem): ToolResult {
  const details = problemDetails(problem, STATUS[problem.code].route)
  return { content: [{ type: 'text', text: JSON.stringify(details) }], isError: true }
}
