import type { ResolvedOptions } from '../../../gateway/config/resolve/resolve-options.js'
import type { InspectedWebhook } from '../../../ledger/operate/inspect-ledger.js'
import { OPERATOR } from '../../../ledger/webhooks.js'
import { isPublicAddress } from '../../../operate/webhooks/public-address.js'
import { findReceiver, type Receiver } from '../../../operate/webhooks/receiver-url.js'
import { caution, fault, sound, type DoctorFinding } from './doctor-finding.js'

/** How many receivers are checked, and how many at once. */
const MAX_RECEIVERS = 100
const AT_ONCE = 20

/** A delivery should be tried within this time (ms). */
const UNTRIED_MS = 120_000

/** Checks the URLs of webhooks and their deliveries so far. Sends nothing to receivers. */
export async function checkWebhooks(
  { webhooks: rules, projects }: Pick<ResolvedOptions, 'webhooks' | 'projects'>,
  webhooks: readonly InspectedWebhook[],
): Promise<readonly DoctorFinding[]> {
  const configured = new Set(projects.map(({ id }) => id))
  const found: DoctorFinding[] = []
  for (const webhook of webhooks) {
    const isOwned = webhook.isOwned || configured.has(webhook.project)
    found.push(...(isOwned ? [] : [withoutProject(webhook)]), ...checkDeliveries(webhook))
  }
  const looked = firstOfEach(webhooks)
  for (let start = 0; start < looked.length; start += AT_ONCE) {
    const some = looked.slice(start, start + AT_ONCE)
    const checked = await Promise.all(
      some.map(async (webhook) => checkReceiver(webhook, await findReceiver(webhook.url, rules))),
    )
    found.push(...checked.flat())
  }
  if (webhooks.length === 0 || found.length > 0) return found
  return [
    sound(
      'webhook',
      `${webhooks.length} webhooks: their URLs are allowed, and no delivery has failed.`,
    ),
  ]
}

/** One webhook per receiver: all webhooks of a receiver share its problems. */
function firstOfEach(webhooks: readonly InspectedWebhook[]): readonly InspectedWebhook[] {
  const byOrigin = new Map<string, InspectedWebhook>()
  for (const webhook of webhooks) {
    const origin = URL.canParse(webhook.url) ? new URL(webhook.url).origin : webhook.url
    if (!byOrigin.has(origin)) byOrigin.set(origin, webhook)
  }
  return [...byOrigin.values()].slice(0, MAX_RECEIVERS)
}

/** Name of a webhook. Its URL may contain a secret and is not shown. */
const nameOf = ({ id, project }: InspectedWebhook): string =>
  project === OPERATOR ? `webhook ${id} of the operator` : `webhook ${id} of project ${project}`

function withoutProject(webhook: InspectedWebhook): DoctorFinding {
  const message = `The ${nameOf(webhook)} is unused: its project does not exist. Configure the project, or ignore this.`
  return caution('webhook', 'webhook_without_project', message)
}

function checkDeliveries(webhook: InspectedWebhook): readonly DoctorFinding[] {
  const { failed, waiting, untriedMs, lastError } = webhook
  const why = lastError === undefined ? '' : ` (${lastError.replace(/\.$/, '')})`
  const found: DoctorFinding[] = []
  if (failed > 0) {
    const message = `${failed} deliveries of the ${nameOf(webhook)} have failed for good${why}: correct its receiver, then resend them with POST …/webhooks/${webhook.id}/deliveries/{id}/resend.`
    found.push(caution('webhook', 'webhook_failed', message))
  }
  if (waiting > 0) {
    const message = `${waiting} deliveries of the ${nameOf(webhook)} failed and will be retried${why}: correct its receiver.`
    found.push(caution('webhook', 'webhook_waiting', message))
  }
  // A payment's deliveries wait for each other.
  if (untriedMs > UNTRIED_MS && waiting === 0) {
    const message = `The ${nameOf(webhook)} has had untried deliveries for ${Math.floor(untriedMs / 60_000)} min: start a gateway on this ledger, or find out why its receiver is slow.`
    found.push(caution('webhook', 'webhook_untried', message))
  }
  return found
}

/** Checks that a webhook's URL may be sent to. */
function checkReceiver(webhook: InspectedWebhook, receiver: Receiver): readonly DoctorFinding[] {
  const name = nameOf(webhook)
  if (receiver.kind === 'refused') {
    const message = `Nothing can be delivered to the ${name}: its URL ${receiver.message}. Change it with PATCH, or delete the webhook.`
    return [fault('webhook', 'webhook_url_refused', message)]
  }
  const { url, addresses } = receiver
  if (url.protocol === 'https:' || !addresses.some(isPublicAddress)) return []
  const message = `The ${name} receives payments in plain text (http:): change its URL to https:.`
  return [caution('webhook', 'webhook_insecure', message)]
}
