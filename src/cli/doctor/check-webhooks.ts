import type { ResolvedOptions } from '../../config/resolve.js'
import type { InspectedWebhook } from '../../ledger/operate/inspect-ledger.js'
import { OPERATOR } from '../../ledger/webhooks.js'
import { isPublicAddress } from '../../webhooks/public-address.js'
import { findReceiver, type Receiver } from '../../webhooks/receiver-url.js'
import { inspectHost } from './certificate.js'
import { caution, fault, sound, type DoctorFinding } from './doctor-finding.js'

/** Most receivers that are connected to: in all, and at once. */
const MAX_RECEIVERS = 100
const AT_ONCE = 20

/** Milliseconds after which a delivery should have been tried. */
const UNTRIED_MS = 120_000

/** Checks that webhooks can be delivered, and are. Nothing is sent to their receivers. */
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
  return [sound('webhook', `All ${webhooks.length} webhooks can be delivered.`)]
}

/** One webhook for each receiver: what is wrong with one is wrong with the others of the same receiver. */
function firstOfEach(webhooks: readonly InspectedWebhook[]): readonly InspectedWebhook[] {
  const byOrigin = new Map<string, InspectedWebhook>()
  for (const webhook of webhooks) {
    const origin = URL.canParse(webhook.url) ? new URL(webhook.url).origin : webhook.url
    if (!byOrigin.has(origin)) byOrigin.set(origin, webhook)
  }
  return [...byOrigin.values()].slice(0, MAX_RECEIVERS)
}

/** How a webhook is named. Its URL is not shown: it may hold a secret. */
const nameOf = ({ id, project }: InspectedWebhook): string =>
  project === OPERATOR ? `webhook ${id} of the operator` : `webhook ${id} of project ${project}`

function withoutProject(webhook: InspectedWebhook): DoctorFinding {
  const message = `The ${nameOf(webhook)} is never used again: there is no such project. Configure the project, or ignore this.`
  return caution('webhook', 'webhook_without_project', message)
}

function checkDeliveries(webhook: InspectedWebhook): readonly DoctorFinding[] {
  const { failed, waiting, untriedMs, lastError } = webhook
  const why = lastError === undefined ? '' : ` (${lastError.replace(/\.$/, '')})`
  const found: DoctorFinding[] = []
  if (failed > 0) {
    const message = `${failed} deliveries of the ${nameOf(webhook)} have failed for good${why}: correct its receiver, then send them again, by POST …/webhooks/${webhook.id}/deliveries/{id}/resend.`
    found.push(caution('webhook', 'webhook_failed', message))
  }
  if (waiting > 0) {
    const message = `${waiting} deliveries of the ${nameOf(webhook)} were tried in vain, and are tried again${why}: correct its receiver.`
    found.push(caution('webhook', 'webhook_waiting', message))
  }
  // The deliveries of a payment wait for each other.
  if (untriedMs > UNTRIED_MS && waiting === 0) {
    const message = `The ${nameOf(webhook)} has deliveries that nobody has tried for ${Math.floor(untriedMs / 60_000)} min: start a gateway on this ledger, or see why its receiver is slow.`
    found.push(caution('webhook', 'webhook_untried', message))
  }
  return found
}

/** Checks the host of a webhook: its DNS, whether it is public, and its certificate. */
async function checkReceiver(
  webhook: InspectedWebhook,
  receiver: Receiver,
): Promise<readonly DoctorFinding[]> {
  const name = nameOf(webhook)
  if (receiver.kind === 'refused') {
    const message = `Nothing can be delivered to the ${name}: its URL ${receiver.message}. Change it by PATCH, or delete it.`
    return [fault('webhook', 'webhook_url_refused', message)]
  }
  const { url, addresses } = receiver
  const isSecure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port || (isSecure ? 443 : 80))
  const state = await inspectHost({ name: host, address: addresses[0], port, isSecure })
  switch (state.kind) {
    case 'sound': {
      if (isSecure || !addresses.some(isPublicAddress)) return []
      const message = `The ${name} is told of payments in plain text (http:): change its URL to https:.`
      return [caution('webhook', 'webhook_insecure', message)]
    }
    case 'unreachable': {
      const message = `Nobody can be reached at ${host}:${port} for the ${name} (${state.code}): start its receiver, open the firewall, or change its URL.`
      return [caution('webhook', 'webhook_unreachable', message)]
    }
    case 'untrusted': {
      const message = `Nothing can be delivered to the ${name}: the certificate of ${host} cannot be trusted (${state.why}). Renew it, or name its authority in NODE_EXTRA_CA_CERTS.`
      return [fault('webhook', 'webhook_tls_untrusted', message)]
    }
    case 'ends_soon': {
      const message = `The certificate of ${host}, for the ${name}, ends in ${state.days} days: renew it.`
      return [caution('webhook', 'webhook_tls_ends_soon', message)]
    }
    case 'no_tls': {
      const message = `Nothing can be delivered to the ${name}: ${host} speaks no TLS at port ${port} (${state.code}). Change its URL.`
      return [fault('webhook', 'webhook_tls_failed', message)]
    }
  }
}
