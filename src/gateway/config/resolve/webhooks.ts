import { z } from 'zod'
import type { Project } from '../../../core/merchants/project.js'
import { MAX_ENDPOINTS, WEBHOOK_EVENTS, type DeclaredEndpoint } from '../../../ledger/webhooks.js'
import {
  parseReceiverUrl,
  receiverRules,
  type ReceiverRules,
} from '../../../operate/webhooks/receiver-url.js'
import { isWebhookSecret } from '../../../operate/webhooks/secret.js'
import type { DeclaredWebhook, WebhookOptions } from '../options.js'
import { missing, mistake, type FieldsOf } from './fields.js'
import { within, type Report } from './report.js'

const SHAPE =
  "must be a list, like [{ url: 'https://shop.example/hooks', secret }], or an object, like { allowPrivate: true }"
const SECRET =
  "must be 'whsec_' and 24 to 64 bytes in base64 (Standard Webhooks), like whsec_$(openssl rand -base64 32)"

const declared = z.array(
  z.strictObject({
    url: z.string({ error: missing('where events are posted') }),
    secret: z
      .string({ error: missing('what deliveries are signed with') })
      .refine(isWebhookSecret, mistake('invalid_value', SECRET)),
    events: z.array(z.enum(WEBHOOK_EVENTS)).min(1).optional(),
  } satisfies FieldsOf<DeclaredWebhook>),
)

export const webhooksSchema = z
  .union(
    [
      declared,
      z.strictObject({
        allowPrivate: z.boolean().optional(),
        endpoints: declared.optional(),
      } satisfies FieldsOf<WebhookOptions>),
    ],
    { error: SHAPE },
  )
  .default({})

/** Rules of receivers, and declared endpoints. */
export interface ResolvedWebhooks extends ReceiverRules {
  /** `undefined` where the configuration does not say: the ledger keeps what it has. */
  readonly declared: readonly DeclaredEndpoint[] | undefined
}

/** Checks the URLs of declared webhooks, and finds the merchant whose payments these are told. */
export function resolveWebhooks(
  given: z.output<typeof webhooksSchema>,
  projects: readonly Project[],
  report: Report,
): ResolvedWebhooks {
  const isList = Array.isArray(given)
  const { allowPrivate = false, endpoints } = isList ? { endpoints: given } : given
  const rules = receiverRules(allowPrivate)
  if (endpoints === undefined) return { ...rules, declared: undefined }
  const reportHere = within(report, isList ? 'webhooks' : 'webhooks.endpoints')
  const [seller, ...others] = projects.filter(({ settings }) => settings !== undefined)
  if (endpoints.length > 0 && seller === undefined)
    reportHere('', 'missing_option', 'need a project with a merchant: configure `projects`')
  const remedy = 'are for the only merchant, and there are several: register them by the API'
  if (endpoints.length > 0 && others.length > 0) reportHere('', 'conflicting_options', remedy)
  if (endpoints.length > MAX_ENDPOINTS)
    reportHere('', 'out_of_range', `must have at most ${MAX_ENDPOINTS} entries`)
  const taken = new Set<string>()
  const resolved = endpoints.flatMap(({ url: text, secret, events = WEBHOOK_EVENTS }, index) => {
    const parsed = parseReceiverUrl(text, rules)
    if ('message' in parsed) {
      reportHere(`${index}.url`, 'invalid_url', parsed.message)
      return []
    }
    const url = parsed.url.href
    if (taken.has(url)) reportHere(`${index}.url`, 'invalid_url', 'is there already')
    taken.add(url)
    return [{ project: seller?.id ?? '', url, secret, events }]
  })
  return { ...rules, declared: resolved }
}
