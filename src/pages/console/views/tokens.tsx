import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { Token } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { Badge } from '../parts/badge.js'
import { Confirm } from '../parts/dialog.js'
import { May } from '../parts/may.js'
import { Empty, LoadedView } from '../parts/notice.js'
import { Section } from '../parts/page.js'
import { Table } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { announce } from '../state/announce.js'
import { NewToken } from './new-token.js'
import { nameOf, scopesInWords } from './token-name.js'

type Doing =
  | { readonly kind: 'create' }
  | { readonly kind: 'rotate'; readonly token: Token }
  | { readonly kind: 'revoke'; readonly token: Token }

export function Tokens({ path }: { readonly path: string }) {
  const loaded = useLoad<{ readonly tokens: readonly Token[] }>(path)
  const [doing, setDoing] = useState<Doing>()
  const end = (): void => {
    setDoing(undefined)
    loaded.reload()
  }
  const revoke = ({ id }: Token) => ask('DELETE', `${path}/${encodeURIComponent(id)}`)
  return (
    <Section
      title="Tokens"
      note="A token lets its holder call the API as the merchant, and sign in here."
      actions={
        <May scope="manage">
          <button type="button" class="button" onClick={() => setDoing({ kind: 'create' })}>
            New token
          </button>
        </May>
      }
    >
      <LoadedView of={loaded}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <Empty title="No tokens yet">
              <p>Without one, the merchant’s own programs cannot use the API.</p>
            </Empty>
          ) : (
            <TokenTable of={tokens} onDo={setDoing} />
          )
        }
      </LoadedView>
      {(doing?.kind === 'create' || doing?.kind === 'rotate') && (
        <NewToken
          path={path}
          replaced={doing.kind === 'rotate' ? doing.token : undefined}
          onRevoke={revoke}
          onClose={end}
        />
      )}
      {doing?.kind === 'revoke' && (
        <Confirm
          title={`Revoke ${nameOf(doing.token)}?`}
          verb="Revoke token"
          act={() => revoke(doing.token)}
          onClose={() => setDoing(undefined)}
          onDone={() => {
            announce('The token was revoked.')
            end()
          }}
        >
          <p>
            Programs that use it stop working at once, and anyone signed in with it is signed out.
          </p>
        </Confirm>
      )}
    </Section>
  )
}

interface TokenTableProps {
  readonly of: readonly Token[]
  readonly onDo: (doing: Doing) => void
}

function TokenTable({ of, onDo }: TokenTableProps) {
  return (
    <Table
      caption="Tokens"
      rows={of}
      keyOf={({ id }) => id}
      rowClass={({ revokedAt }) => (revokedAt ? 'is-over' : '')}
      columns={[
        {
          title: 'Label',
          cell: ({ label, id }) => (
            <>
              {label || 'No label'}
              <small class="sub">
                <code>{id}</code>
              </small>
            </>
          ),
        },
        { title: 'Scopes', cell: ({ scopes }) => scopesInWords(scopes) },
        { title: 'State', cell: (token) => <State of={token} /> },
        {
          title: 'Created',
          isMinor: true,
          cell: ({ createdAt }) => (createdAt ? <Time at={createdAt} as="ago" /> : '–'),
        },
        {
          title: 'Last used',
          isMinor: true,
          cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} as="ago" /> : 'never'),
        },
        {
          title: 'Actions',
          cell: (token) => (
            <May scope="manage">
              <Actions of={token} onDo={onDo} />
            </May>
          ),
        },
      ]}
    />
  )
}

function State({ of: { source, revokedAt } }: { readonly of: Token }) {
  if (source === 'configuration') return <Badge tone="plain">from configuration</Badge>
  return revokedAt ? <Badge tone="bad">revoked</Badge> : <Badge tone="good">in use</Badge>
}

function Actions({
  of: token,
  onDo,
}: {
  readonly of: Token
  readonly onDo: (doing: Doing) => void
}) {
  if (token.source === 'configuration' || token.revokedAt) return null
  return (
    <div class="actions">
      <button
        type="button"
        class="button button-small"
        aria-label={`Rotate ${nameOf(token)}`}
        onClick={() => onDo({ kind: 'rotate', token })}
      >
        Rotate
      </button>
      <button
        type="button"
        class="button button-small"
        aria-label={`Revoke ${nameOf(token)}`}
        onClick={() => onDo({ kind: 'revoke', token })}
      >
        Revoke
      </button>
    </div>
  )
}
