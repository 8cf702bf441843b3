import { notFound, RequestProblem } from '../../shared/http/respond-problem.js'
import { DECLARED, type WebhookEndpoint } from '../../ledger/webhooks.js'
import type { RouterContext } from '../context.js'
import { ownProject } from '../serve/authenticate.js'
import type { EarlyCall } from '../serve/define-endpoint.js'

/** The form of ids. The ledger is not asked for any other. */
const ENDPOINT_ID = /^we_(config_)?[0-9a-f]{32}$/

/** The endpoint that a request is about. @throws {@link RequestProblem} 404, also for another project's. */
export async function endpointOf(
  { ledger }: RouterContext,
  call: EarlyCall,
): Promise<WebhookEndpoint> {
  const found = await ledger.webhooks.endpoints.find(ownProject(call.res).id, endpointIdOf(call))
  return found ?? noWebhook()
}

function endpointIdOf({ param }: EarlyCall): string {
  const id = param('id')
  return ENDPOINT_ID.test(id) ? id : noWebhook()
}

/** The id of an endpoint that a request is to change. @throws {@link RequestProblem} 409 for a declared one. */
export function changeableIdOf({ directory }: RouterContext, call: EarlyCall): string {
  const id = endpointIdOf(call)
  // A project that is no longer configured declares nothing.
  if (!id.startsWith(DECLARED) || !directory.isConfigured(ownProject(call.res).id)) return id
  throw new RequestProblem(
    'project_configured',
    'This webhook comes from the configuration: change it there, and restart the gateway.',
  )
}

export const noWebhook = () => notFound('There is no webhook of that id here.')
