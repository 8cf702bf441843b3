import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { ListOf, Token } from '../api/documents.js'
import { useAction, useLoad } from '../api/use-load.js'
import { Badge } from '../parts/badge.js'
import { Button, May } from '../parts/button.js'
import { Copyable } from '../parts/copy.js'
import { Confirm, Dialog } from '../parts/dialog.js'
import { CheckFields, TextField } from '../parts/field.js'
import { Form, useForm } from '../parts/form.js'
import { Empty, ProblemNotice } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Section } from '../parts/page.js'
import { List } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { announce } from '../state/announce.js'

type TokenScope = Token['scopes'][number]

/** What each scope of a token allows. */
const MEANINGS: Readonly<Record<TokenScope, string>> = {
  settle: 'Make offers, verify and settle payments.',
  read: 'See payments, refunds and reports, and sign in here.',
  refund: 'Refund payments.',
  webhooks: 'Manage webhooks.',
}

const SCOPES = Object.entries(MEANINGS) as ReadonlyArray<
  readonly [scope: TokenScope, meaning: string]
>

const nameOf = ({ label, id }: Token): string => (label ? `“${label}”` : id)

type Doing =
  | { readonly kind: 'create'; readonly token?: undefined }
  | { readonly kind: 'rotate' | 'revoke'; readonly token: Token }

const NONE = 'Without one, the merchant’s own programs cannot use the API.'

const REVOKED =
  'Programs that use it stop working at once, and anyone signed in with it is signed out.'

export function Tokens({ path }: { readonly path: string }) {
  const loaded = useLoad<ListOf<'tokens', Token>>(path)
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
        <Button scope="manage" onClick={() => setDoing({ kind: 'create' })}>
          New token
        </Button>
      }
    >
      <List
        of={loaded}
        rows={({ tokens }) => tokens}
        empty={() => <Empty title="No tokens yet">{NONE}</Empty>}
        caption="Tokens"
        rowClass={({ revokedAt }) => (revokedAt ? 'is-over' : '')}
        columns={[
          ['Label', (token) => <Label of={token} />],
          ['Scopes', ({ scopes }) => (scopes.length === SCOPES.length ? 'all' : scopes.join(', '))],
          ['State', (token) => <State of={token} />],
          ['Created', ({ createdAt: at }) => (at ? <Time at={at} as="ago" /> : '–'), 'minor'],
          [
            'Last used',
            ({ lastUsedAt: at }) => (at ? <Time at={at} as="ago" /> : 'never'),
            'minor',
          ],
          ['Actions', (token) => <Actions of={token} onDo={setDoing} />],
        ]}
      />
      {doing !== undefined && doing.kind !== 'revoke' && (
        <NewToken path={path} replaced={doing.token} onRevoke={revoke} onClose={end} />
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
          <p>{REVOKED}</p>
        </Confirm>
      )}
    </Section>
  )
}

const Label = ({ of: { label, id } }: Of<Token>) => (
  <>
    {label || 'No label'}
    <small class="sub">
      <code>{id}</code>
    </small>
  </>
)

function State({ of: { source, revokedAt } }: Of<Token>) {
  if (source === 'configuration') return <Badge tone="plain">from configuration</Badge>
  return revokedAt ? <Badge tone="bad">revoked</Badge> : <Badge tone="good">in use</Badge>
}

function Actions({ of: token, onDo }: Of<Token> & { readonly onDo: (doing: Doing) => void }) {
  if (token.source === 'configuration' || token.revokedAt) return null
  const [rotate, revoke] = [`Rotate ${nameOf(token)}`, `Revoke ${nameOf(token)}`]
  return (
    <May scope="manage">
      <div class="actions">
        <Button kind="small" label={rotate} onClick={() => onDo({ kind: 'rotate', token })}>
          Rotate
        </Button>
        <Button kind="small" label={revoke} onClick={() => onDo({ kind: 'revoke', token })}>
          Revoke
        </Button>
      </div>
    </May>
  )
}

interface NewTokenProps {
  readonly path: string
  readonly replaced: Token | undefined
  readonly onRevoke: (token: Token) => Promise<unknown>
  readonly onClose: () => void
}

/** Creates a token and shows it once. A rotation revokes the old one after the new one is in place. */
function NewToken({ path, replaced, onRevoke, onClose }: NewTokenProps) {
  const [created, setCreated] = useState<string>()
  const form = useForm({
    initial: () => ({
      label: replaced?.label ?? '',
      scopes: replaced?.scopes ?? SCOPES.map(([scope]) => scope),
    }),
    method: 'POST',
    path,
    bodyOf: ({ label, scopes }) => ({ label: label.trim(), scopes }),
    onSaved: ({ token }: { readonly token: string }) => setCreated(token),
  })
  const title = replaced ? `Rotate ${nameOf(replaced)}` : 'New token'
  const lead = replaced && <p>The old token works until you revoke it.</p>
  return (
    <Dialog title={title} onClose={created === undefined ? onClose : undefined}>
      {created === undefined ? (
        <Form of={form} lead={lead} verb="Create token" onCancel={onClose}>
          <TextField
            label="Label"
            hint="Where it is used, such as “shop server”."
            {...form.field('label')}
          />
          {!replaced && <CheckFields legend="It may" names={SCOPES} {...form.field('scopes')} />}
        </Form>
      ) : (
        <Created token={created} replaced={replaced} onRevoke={onRevoke} onClose={onClose} />
      )}
    </Dialog>
  )
}

interface CreatedProps extends Omit<NewTokenProps, 'path'> {
  readonly token: string
}

function Created({ token, replaced, onRevoke, onClose }: CreatedProps) {
  const revoke = useAction(async () => replaced && onRevoke(replaced).then(onClose))
  return (
    <>
      <p>Copy this token now. You will not see it again.</p>
      <Copyable text={token} label="Token" />
      {replaced && <p>Put the new token in place, then revoke the old one.</p>}
      <ProblemNotice problem={revoke.problem} />
      <div class="actions dialog-foot">
        {replaced && (
          <Button kind="danger" action={revoke}>
            Revoke the old token
          </Button>
        )}
        <Button kind="main" onClick={onClose}>
          {replaced ? 'Later' : 'Done'}
        </Button>
      </div>
    </>
  )
}
