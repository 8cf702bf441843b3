import { Page } from '../parts/page.js'
import { useSession } from '../state/session.js'
import { WebhookList } from './webhook-list.js'
import { ownWebhooks } from './webhook-owner.js'

export function Webhooks() {
  const { role } = useSession()
  return (
    <Page title="Webhooks">
      <WebhookList owner={ownWebhooks(role)} />
    </Page>
  )
}
