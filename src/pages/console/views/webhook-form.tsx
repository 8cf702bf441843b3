import type { Webhook } from '../api/documents.js'
import { CheckFields, TextField } from '../parts/field.js'
import { Form, useForm } from '../parts/form.js'
import type { WebhookOwner } from './webhook-owner.js'

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
