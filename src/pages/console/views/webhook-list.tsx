import { useState } from 'preact/hooks'
import type { ListOf, Webhook } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { Button } from '../parts/button.js'
import { SecretOnce } from '../parts/copy.js'
import { Dialog } from '../parts/dialog.js'
import { CheckFields, TextField } from '../parts/field.js'
import { Form, useForm } from '../parts/form.js'
import { Empty } from '../parts/notice.js'
import { Page, Section } from '../parts/page.js'
import { List } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { useSession } from '../state/session.js'
import { ownWebhooks, type WebhookOwner } from './webhook-owner.js'

export function Webhooks() {
  const { role } = useSession()
  return (
    <Page title="Webhooks">
      <WebhookList owner={ownWebhooks(role)} />
    </Page>
  )
}

export function WebhookList({ owner }: { readonly owner: WebhookOwner }) {
  const { path, heading, note, invitation, linkOf } = owner
  const loaded = useLoad<ListOf<'webhooks', Webhook>>(path)
  const [isNew, setNew] = useState(false)
  const [secret, setSecret] = useState<string>()
  const created = (webhook: Webhook): void => {
    setNew(false)
    setSecret(webhook.secret)
    loaded.reload()
  }
  return (
    <Section
      title={heading}
      note={note}
      actions={
        <Button scope="webhooks" onClick={() => setNew(true)}>
          New webhook
        </Button>
      }
    >
      <List
        of={loaded}
        rows={({ webhooks }) => webhooks}
        empty={() => <Empty title="No webhooks yet">{invitation}</Empty>}
        caption="Webhooks"
        columns={[
          [
            'URL',
            ({ id, url }) => (
              <a class="break" href={linkOf(id)}>
                {url}
              </a>
            ),
          ],
          [
            'Events',
            ({ events }) => (events.length === owner.events.length ? 'all' : events.join(', ')),
          ],
          ['Created', ({ createdAt }) => <Time at={createdAt} as="ago" />, 'minor'],
        ]}
      />
      {isNew && (
        <Dialog title="New webhook" onClose={() => setNew(false)}>
          <WebhookForm
            path={path}
            events={owner.events}
            webhook={undefined}
            onCancel={() => setNew(false)}
            onSaved={created}
          />
        </Dialog>
      )}
      {secret !== undefined && (
        <SecretOnce title="Webhook secret" secret={secret} onClose={() => setSecret(undefined)}>
          The receiver uses it to verify events.
        </SecretOnce>
      )}
    </Section>
  )
}

interface WebhookFormProps {
  /** Path of the list, or of the webhook to change. */
  readonly path: string
  /** Events that it can subscribe to. */
  readonly events: WebhookOwner['events']
  readonly webhook: Webhook | undefined
  readonly onCancel: () => void
  readonly onSaved: (webhook: Webhook) => void
}

export function WebhookForm({ path, events, webhook, onCancel, onSaved }: WebhookFormProps) {
  const form = useForm({
    initial: () => ({
      url: webhook?.url ?? '',
      events: (webhook?.events as readonly string[] | undefined) ?? events.map(([name]) => name),
    }),
    method: webhook ? 'PATCH' : 'POST',
    path,
    bodyOf: (values) => ({ url: values.url.trim(), events: values.events }),
    onSaved,
  })
  return (
    <Form of={form} verb={webhook ? 'Save' : 'Add webhook'} onCancel={onCancel}>
      <TextField
        label="URL"
        type="url"
        placeholder="https://shop.example/webhooks"
        hint="HTTPS, at a public address."
        {...form.field('url')}
      />
      <CheckFields legend="Events" names={events} {...form.field('events')} />
    </Form>
  )
}
