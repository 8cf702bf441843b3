import { useState } from 'preact/hooks'
import type { Webhook } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { SecretOnce } from '../parts/copy.js'
import { Dialog } from '../parts/dialog.js'
import { Empty, LoadedView } from '../parts/notice.js'
import { Section } from '../parts/page.js'
import { Table } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { linkTo } from '../state/route.js'
import { ALL_EVENTS } from './webhook-events.js'
import { WebhookForm } from './webhook-form.js'

interface WebhookListProps {
  /** The endpoint of the webhooks. */
  readonly path: string
  /** The view of one. */
  readonly linkOf: (id: string) => readonly string[]
}

/** Who is told of payments. */
export function WebhookList({ path, linkOf }: WebhookListProps) {
  const loaded = useLoad<{ readonly webhooks: readonly Webhook[] }>(path)
  const [isNew, setNew] = useState(false)
  const [secret, setSecret] = useState<string>()
  return (
    <Section
      title="Webhooks"
      note="URLs that are told of payments, signed by Standard Webhooks."
      actions={
        <button type="button" class="button" onClick={() => setNew(true)}>
          New webhook
        </button>
      }
    >
      <LoadedView of={loaded}>
        {({ webhooks }) =>
          webhooks.length === 0 ? (
            <Empty title="No webhook yet">
              <p>Add a URL to be told when a payment is settled, fails or is paid back.</p>
            </Empty>
          ) : (
            <WebhookTable of={webhooks} linkOf={linkOf} />
          )
        }
      </LoadedView>
      {isNew && (
        <Dialog title="New webhook" onClose={() => setNew(false)}>
          <WebhookForm
            path={path}
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
        <SecretOnce
          title="Secret of the webhook"
          secret={secret}
          onClose={() => setSecret(undefined)}
        >
          The receiver verifies each event with it.
        </SecretOnce>
      )}
    </Section>
  )
}

interface WebhookTableProps {
  readonly of: readonly Webhook[]
  readonly linkOf: WebhookListProps['linkOf']
}

function WebhookTable({ of, linkOf }: WebhookTableProps) {
  return (
    <Table
      caption="Webhooks"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'URL',
          cell: ({ id, url }) => (
            <a class="break" href={linkTo(linkOf(id))}>
              {url}
            </a>
          ),
        },
        {
          title: 'Events',
          cell: ({ events }) => (events.length === ALL_EVENTS.length ? 'all' : events.join(', ')),
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
