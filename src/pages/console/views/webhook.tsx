import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { Webhook } from '../api/documents.js'
import { useAction, useLoad } from '../api/use-load.js'
import { SecretOnce } from '../parts/copy.js'
import { Confirm, Dialog } from '../parts/dialog.js'
import { May } from '../parts/may.js'
import { LoadedView, ProblemNotice } from '../parts/notice.js'
import { Page, Section } from '../parts/page.js'
import { Facts } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { announce } from '../state/announce.js'
import { navigate, type Route } from '../state/route.js'
import { Deliveries } from './deliveries.js'
import { WebhookForm } from './webhook-form.js'
import type { WebhookOwner } from './webhook-owner.js'

interface WebhookViewProps {
  readonly id: string
  readonly owner: WebhookOwner
  readonly route: Route
}

type Doing = 'edit' | 'rotate' | 'delete' | undefined

export function WebhookView({ id, owner, route }: WebhookViewProps) {
  const path = `${owner.path}/${encodeURIComponent(id)}`
  const loaded = useLoad<Webhook>(path)
  const test = useAction()
  const [turn, setTurn] = useState(0)
  const [doing, setDoing] = useState<Doing>()
  const sendTest = async (): Promise<void> => {
    await ask('POST', `${path}/test`)
    announce('A test event is on its way.')
    setTurn(turn + 1)
  }
  return (
    <Page
      title="Webhook"
      back={owner}
      actions={
        <May scope="webhooks">
          <button
            type="button"
            class="button"
            aria-disabled={test.isBusy}
            onClick={() => void test.run(sendTest)}
          >
            Send a test
          </button>
          <button type="button" class="button" onClick={() => setDoing('edit')}>
            Edit
          </button>
          <button type="button" class="button" onClick={() => setDoing('rotate')}>
            New secret
          </button>
          <button type="button" class="button" onClick={() => setDoing('delete')}>
            Delete…
          </button>
        </May>
      }
    >
      <ProblemNotice problem={test.problem} />
      <LoadedView of={loaded}>{(webhook) => <WebhookFacts of={webhook} />}</LoadedView>
      {loaded.data && <Deliveries key={turn} path={`${path}/deliveries`} route={route} />}
      {loaded.data && (
        <Dialogs
          doing={doing}
          path={path}
          events={owner.events}
          webhook={loaded.data}
          onEnd={() => setDoing(undefined)}
          onChange={loaded.reload}
          onDelete={() => navigate(owner.href)}
        />
      )}
    </Page>
  )
}

function WebhookFacts({
  of: { url, events, createdAt, previousSecretUntil },
}: {
  readonly of: Webhook
}) {
  return (
    <Section title="Settings">
      <Facts
        of={[
          ['URL', <span class="break">{url}</span>],
          ['Events', events.join(', ')],
          ['Created', <Time at={createdAt} />],
          ['Old secret valid until', previousSecretUntil && <Time at={previousSecretUntil} />],
        ]}
      />
    </Section>
  )
}

interface DialogsProps {
  readonly doing: Doing
  readonly path: string
  readonly events: WebhookOwner['events']
  readonly webhook: Webhook
  readonly onEnd: () => void
  readonly onChange: () => void
  readonly onDelete: () => void
}

function Dialogs({ doing, path, events, webhook, onEnd, onChange, onDelete }: DialogsProps) {
  const [secret, setSecret] = useState<string>()
  const changed = (): void => {
    onEnd()
    onChange()
  }
  const rotate = async (): Promise<void> =>
    setSecret((await ask<Webhook>('POST', `${path}/rotate-secret`)).secret)
  return (
    <>
      {doing === 'edit' && (
        <Dialog title="Edit the webhook" onClose={onEnd}>
          <WebhookForm
            path={path}
            events={events}
            webhook={webhook}
            onCancel={onEnd}
            onSaved={changed}
          />
        </Dialog>
      )}
      {doing === 'rotate' && (
        <Confirm
          title="Create a new secret?"
          verb="Create secret"
          act={rotate}
          onClose={onEnd}
          onDone={changed}
        >
          <p>For one day, events are signed with both secrets, so that the receiver can switch.</p>
        </Confirm>
      )}
      {doing === 'delete' && (
        <Confirm
          title="Delete the webhook?"
          verb="Delete the webhook"
          act={() => ask('DELETE', path)}
          onClose={onEnd}
          onDone={onDelete}
        >
          <p>Undelivered events are dropped.</p>
        </Confirm>
      )}
      {secret !== undefined && (
        <SecretOnce title="New secret" secret={secret} onClose={() => setSecret(undefined)}>
          Give it to the receiver within a day.
        </SecretOnce>
      )}
    </>
  )
}
