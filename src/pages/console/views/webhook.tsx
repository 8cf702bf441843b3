import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { Delivery, ListOf, Webhook } from '../api/documents.js'
import { useAction, useLoad, useReloadWhile } from '../api/use-load.js'
import { StatusBadge } from '../parts/badge.js'
import { Button, May } from '../parts/button.js'
import { SecretOnce } from '../parts/copy.js'
import { Confirm, Dialog } from '../parts/dialog.js'
import { optionsOf, SelectField } from '../parts/field.js'
import { Empty, LoadedView, ProblemNotice } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page, Section } from '../parts/page.js'
import { Facts, List } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { announce } from '../state/announce.js'
import { cursorOf, filtersOf, linkTo, navigate, queryOf, type Route } from '../state/route.js'
import { WebhookForm } from './webhook-list.js'
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
  const [turn, setTurn] = useState(0)
  const [doing, setDoing] = useState<Doing>()
  const test = useAction(async () => {
    await ask('POST', `${path}/test`)
    announce('A test event is on its way.')
    setTurn(turn + 1)
  })
  return (
    <Page
      title="Webhook"
      back={owner}
      actions={
        <May scope="webhooks">
          <Button action={test}>Send a test</Button>
          <Button onClick={() => setDoing('edit')}>Edit</Button>
          <Button onClick={() => setDoing('rotate')}>New secret</Button>
          <Button onClick={() => setDoing('delete')}>Delete…</Button>
        </May>
      }
    >
      <ProblemNotice problem={test.problem} />
      <LoadedView of={loaded}>{(webhook) => <WebhookFacts of={webhook} />}</LoadedView>
      {loaded.data && (
        <>
          <Deliveries key={turn} path={`${path}/deliveries`} route={route} />
          <Dialogs
            of={loaded.data}
            owner={owner}
            path={path}
            doing={doing}
            onEnd={() => setDoing(undefined)}
            onChange={loaded.reload}
          />
        </>
      )}
    </Page>
  )
}

function WebhookFacts({ of: { url, events, createdAt, previousSecretUntil } }: Of<Webhook>) {
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

interface DialogsProps extends Of<Webhook> {
  readonly owner: WebhookOwner
  readonly path: string
  readonly doing: Doing
  readonly onEnd: () => void
  readonly onChange: () => void
}

function Dialogs({ of, owner, path, doing, onEnd, onChange }: DialogsProps) {
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
            events={owner.events}
            webhook={of}
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
          onDone={() => navigate(owner.href)}
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

const STATES = optionsOf('Any state', ['pending', 'delivered', 'failed'])

interface DeliveriesProps {
  readonly path: string
  readonly route: Route
}

/** Deliveries of a webhook, newest first. */
function Deliveries({ path, route }: DeliveriesProps) {
  const { values, field } = filtersOf(route, ['state'])
  const query = queryOf({ ...values, cursor: cursorOf(route) })
  const loaded = useLoad<ListOf<'deliveries', Delivery>>(path + query)
  const isOpen = loaded.data?.deliveries.some(({ state }) => state === 'pending') ?? false
  useReloadWhile(loaded, isOpen)
  return (
    <Section title="Deliveries">
      <div class="toolbar">
        <SelectField label="State" options={STATES} {...field('state')} />
      </div>
      <List
        of={loaded}
        rows={({ deliveries }) => deliveries}
        route={route}
        empty={() => <Empty title="No deliveries yet" />}
        caption="Deliveries"
        columns={[
          ['Time', ({ createdAt }) => <Time at={createdAt} as="short" />, 'minor'],
          ['Event', (one) => <Event of={one} />],
          ['State', (one) => <State of={one} />],
          ['Attempts', ({ attempts }) => attempts, 'number minor'],
          ['Last attempt', (one) => <Answer of={one} path={path} onSent={loaded.reload} />],
        ]}
      />
    </Section>
  )
}

const Event = ({ of: { type, payment, createdAt } }: Of<Delivery>) => (
  <>
    <code>{type}</code>
    <small class="sub phone">
      <Time at={createdAt} as="short" />
    </small>
    {payment !== undefined && (
      <small class="sub">
        <a href={linkTo(['settlements', payment])}>View payment</a>
      </small>
    )}
  </>
)

const isOver = (time: string): boolean => Date.parse(time) <= Date.now()

const State = ({ of: { state, nextAttemptAt } }: Of<Delivery>) => (
  <>
    <StatusBadge status={state} />
    {nextAttemptAt !== undefined && (
      <small class="sub">
        next attempt {isOver(nextAttemptAt) ? 'now' : <Time at={nextAttemptAt} as="ago" />}
      </small>
    )}
  </>
)

function Text({ of, title }: Of<string | undefined> & { readonly title: string }) {
  if (!of) return null
  return (
    <details class="answer">
      <summary>{title}</summary>
      <pre tabIndex={0}>{of}</pre>
    </details>
  )
}

interface AnswerProps extends Of<Delivery> {
  readonly path: string
  readonly onSent: () => void
}

/** Shows what was posted and the receiver's response, and sends the event again. */
function Answer({ of, path, onSent }: AnswerProps) {
  const { id, type, state, body, lastStatus, lastError, lastResponse } = of
  const verb = state === 'pending' ? 'Send now' : 'Resend'
  const [isSent, setSent] = useState(false)
  const resend = useAction(async () => {
    await ask('POST', `${path}/${encodeURIComponent(id)}/resend`)
    announce('The event is being sent again.')
    setSent(true)
    onSent()
  })
  return (
    <>
      {lastStatus === undefined && lastError === undefined ? (
        '–'
      ) : (
        <div class="answer">{lastStatus === undefined ? lastError : `HTTP ${lastStatus}`}</div>
      )}
      <Text of={body && JSON.stringify(JSON.parse(body), null, 2)} title="Request" />
      <Text of={lastResponse} title="Response" />
      <May scope="webhooks">
        <Button kind="small" label={`${verb}: ${type}`} action={resend}>
          {isSent ? 'Sent' : verb}
        </Button>
        <ProblemNotice problem={resend.problem} />
      </May>
    </>
  )
}
