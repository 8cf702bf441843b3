import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { Webhook } from '../api/documents.js'
import { useKey } from '../api/use-key.js'
import { useAction } from '../api/use-load.js'
import { FormFoot } from '../parts/dialog.js'
import { CheckFields, TextField } from '../parts/field.js'
import { ProblemNotice } from '../parts/notice.js'
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

export function WebhookForm({ path, events: known, webhook, onCancel, onSaved }: WebhookFormProps) {
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [events, setEvents] = useState<readonly string[]>(
    webhook?.events ?? known.map(([name]) => name),
  )
  const key = useKey([url, events])
  const action = useAction()
  const errorOf = (name: string): string | undefined => action.problem?.errorOf(name)
  const save = (): Promise<Webhook> =>
    webhook
      ? ask('PATCH', path, { body: { url: url.trim(), events } })
      : ask('POST', path, { body: { url: url.trim(), events }, key })
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void action.run(async () => onSaved(await save()))
      }}
    >
      <ProblemNotice
        problem={action.problem}
        shownElsewhere={(at) => at === 'url' || at.startsWith('events')}
      />
      <TextField
        label="URL"
        type="url"
        value={url}
        onValue={setUrl}
        error={errorOf('url')}
        placeholder="https://shop.example/webhooks"
        hint="HTTPS, at a public address."
      />
      <CheckFields
        legend="Events"
        names={known}
        value={events}
        onValue={setEvents}
        error={errorOf('events')}
      />
      <FormFoot
        verb={webhook ? 'Save' : 'Add webhook'}
        isBusy={action.isBusy}
        onCancel={onCancel}
      />
    </form>
  )
}
