import { useState } from 'preact/hooks'
import type { Webhook } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { SecretOnce } from '../parts/copy.js'
import { Dialog } from '../parts/dialog.js'
import { May } from '../parts/may.js'
import { Empty, LoadedView } from '../parts/notice.js'
import { Section } from '../parts/page.js'
import { Table } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { WebhookForm } from './webhook-form.js'
import type { WebhookOwner } from './webhook-owner.js'

export function WebhookList({ owner }: { readonly owner: WebhookOwner }) {
  const { path, note, invitation } = owner
  const loaded = useLoad<{ readonly webhooks: readonly Webhook[] }>(path)
  const [isNew, setNew] = useState(false)
  const [secret, setSecret] = useState<string>()
  return (
    <Section
      title={owner.heading}
      note={note}
      actions={
        <May scope="webhooks">
          <button type="button" class="button" onClick={() => setNew(true)}>
            New webhook
          </button>
        </May>
      }
    >
      <LoadedView of={loaded}>
        {({ webhooks }) =>
          webhooks.length === 0 ? (
            <Empty title="No webhooks yet">
              <p>{invitation}</p>
            </Empty>
          ) : (
            <WebhookTable of={webhooks} owner={owner} />
          )
        }
      </LoadedView>
      {isNew && (
        <Dialog title="New webhook" onClose={() => setNew(false)}>
          <WebhookForm
            path={path}
            events={owner.events}
            webhook={undefined}
            onCancel={() => setNew(false)}
            onSaved={(created) => {
              setNew(false)
              setSecret(created.secret)
              loaded.reload()
            }}
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

interface WebhookTableProps {
  readonly of: readonly Webhook[]
  readonly owner: WebhookOwner
}

function WebhookTable({ of, owner }: WebhookTableProps) {
  return (
    <Table
      caption="Webhooks"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'URL',
          cell: ({ id, url }) => (
            <a class="break" href={owner.linkOf(id)}>
              {url}
            </a>
          ),
        },
        {
          title: 'Events',
          cell: ({ events }) => (events.length === owner.events.length ? 'all' : events.join(', ')),
        },
        {
          title: 'Created',
          isMinor: true,
          cell: ({ createdAt }) => <Time at={createdAt} as="ago" />,
        },
      ]}
    />
  )
}
