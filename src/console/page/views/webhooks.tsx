import { Page } from '../parts/page.js'
import { WebhookList } from './webhook-list.js'

/** The webhooks of the merchant that is signed in. */
export function Webhooks() {
  return (
    <Page title="Webhooks">
      <WebhookList path="merchant/webhooks" linkOf={(id) => ['webhooks', id]} />
    </Page>
  )
}
