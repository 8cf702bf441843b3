import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { Delivery } from '../api/documents.js'
import { useAction, useLoad, useReloadWhile } from '../api/use-load.js'
import { StatusBadge } from '../parts/badge.js'
import { SelectField } from '../parts/field.js'
import { May } from '../parts/may.js'
import { Empty, LoadedView, ProblemNotice } from '../parts/notice.js'
import { Section } from '../parts/page.js'
import { Pager } from '../parts/pager.js'
import { Table } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { announce } from '../state/announce.js'
import { cursorOf, linkTo, navigate, queryOf, type Route } from '../state/route.js'

const STATES = [
  ['', 'Any state'],
  ['pending', 'Pending'],
  ['delivered', 'Delivered'],
  ['failed', 'Failed'],
] as const

interface DeliveriesProps {
  readonly path: string
  readonly route: Route
}

/** Deliveries of a webhook, newest first. */
export function Deliveries({ path, route }: DeliveriesProps) {
  const state = route.query.get('state') ?? ''
  const loaded = useLoad<{
    readonly deliveries: readonly Delivery[]
    readonly nextCursor?: string
  }>(`${path}${queryOf({ state, cursor: cursorOf(route) })}`)
  const { data, reload } = loaded
  const isOpen = data?.deliveries.some((one) => one.state === 'pending') ?? false
  useReloadWhile(loaded, isOpen)
  return (
    <Section title="Deliveries">
      <div class="toolbar">
        <SelectField
          label="State"
          value={state}
          options={STATES}
          onValue={(chosen) => navigate(linkTo(route.path, { state: chosen }))}
        />
      </div>
      <LoadedView of={loaded}>
        {({ deliveries, nextCursor }) => (
          <>
            {deliveries.length === 0 ? (
              <Empty title="No deliveries yet" />
            ) : (
              <DeliveryTable of={deliveries} path={path} onSent={reload} />
            )}
            <Pager route={route} next={nextCursor} />
          </>
        )}
      </LoadedView>
    </Section>
  )
}

interface DeliveryTableProps {
  readonly of: readonly Delivery[]
  readonly path: string
  readonly onSent: () => void
}

function DeliveryTable({ of, path, onSent }: DeliveryTableProps) {
  return (
    <Table
      caption="Deliveries"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Time',
          isMinor: true,
          cell: ({ createdAt }) => <Time at={createdAt} as="short" />,
        },
        {
          title: 'Event',
          cell: ({ type, payment, createdAt }) => (
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
          ),
        },
        { title: 'State', cell: (one) => <State of={one} /> },
        { title: 'Attempts', isNumber: true, isMinor: true, cell: ({ attempts }) => attempts },
        {
          title: 'Response',
          cell: (one) => (
            <>
              <Answer of={one} />
              <May scope="webhooks">
                <Resend of={one} path={path} onSent={onSent} />
              </May>
            </>
          ),
        },
      ]}
    />
  )
}

function State({ of: { state, nextAttemptAt } }: { readonly of: Delivery }) {
  return (
    <>
      <StatusBadge status={state} />
      {nextAttemptAt !== undefined && (
        <small class="sub">
          next attempt {isOver(nextAttemptAt) ? 'now' : <Time at={nextAttemptAt} as="ago" />}
        </small>
      )}
    </>
  )
}

const isOver = (time: string): boolean => Date.parse(time) <= Date.now()

/** Shows the receiver's response as text. */
function Answer({ of: { lastStatus, lastError, lastResponse } }: { readonly of: Delivery }) {
  if (lastStatus === undefined && lastError === undefined) return <>–</>
  return (
    <div class="answer">
      {lastStatus === undefined ? lastError : `HTTP ${lastStatus}`}
      {lastResponse && (
        <details>
          <summary>Response</summary>
          <pre tabIndex={0}>{lastResponse}</pre>
        </details>
      )}
    </div>
  )
}

interface ResendProps {
  readonly of: Delivery
  readonly path: string
  readonly onSent: () => void
}

function Resend({ of: { id, type, state }, path, onSent }: ResendProps) {
  const action = useAction()
  const [isSent, setSent] = useState(false)
  if (state === 'pending') return null
  const resend = async (): Promise<void> => {
    await ask('POST', `${path}/${encodeURIComponent(id)}/resend`)
    announce('The event is being sent again.')
    setSent(true)
    onSent()
  }
  return (
    <>
      <button
        type="button"
        class="button button-small"
        aria-label={`Resend ${type}`}
        aria-disabled={action.isBusy}
        onClick={() => void action.run(resend)}
      >
        {isSent ? 'Sent' : 'Resend'}
      </button>
      <ProblemNotice problem={action.problem} />
    </>
  )
}
