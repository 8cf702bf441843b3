import { useEffect, useState } from 'preact/hooks'
import type { Settlement, SettlementPage } from '../api/documents.js'
import { useLive, useReconnected, useTicks, type Connection } from '../api/use-live.js'
import { useLoad } from '../api/use-load.js'
import { formatToken } from '../format/money.js'
import { Badge, type Tone } from '../parts/badge.js'
import { Empty, ProblemNotice } from '../parts/notice.js'
import { Page } from '../parts/page.js'
import { NetworkField } from '../parts/network-field.js'
import { ProjectField } from '../parts/project-field.js'
import { announce } from '../state/announce.js'
import { queryOf } from '../state/route.js'
import { useSession } from '../state/session.js'
import { SettlementTable } from './settlement-table.js'

/** How many payments the page keeps. */
const MAX_SHOWN = 50

const CONNECTIONS: Readonly<Record<Connection, readonly [Tone, string]>> = {
  connecting: ['wait', 'Connecting'],
  live: ['good', 'Live'],
  lost: ['bad', 'Connection lost, reconnecting'],
}

export function Live() {
  const { role } = useSession()
  useTicks()
  const [project, setProject] = useState('')
  const [network, setNetwork] = useState('')
  const [isPaused, setPaused] = useState(false)
  const [shown, setShown] = useState<readonly Settlement[]>([])
  const [waiting, setWaiting] = useState<readonly Settlement[]>([])
  const newest = useLoad<SettlementPage>(
    `${role}/settlements${queryOf({ limit: '20', project, network })}`,
  )
  useEffect(() => {
    if (newest.data) setShown((before) => newest.data!.settlements.reduceRight(withChange, before))
  }, [newest.data])
  const connection = useLive(role, { project, network }, (settlement) => {
    if (isPaused) return setWaiting((before) => withChange(before, settlement))
    setShown((before) => withChange(before, settlement))
    announce(`${formatToken(settlement)} ${settlement.status}`)
  })
  useReconnected(connection, newest.reload)
  const togglePause = (): void => {
    setPaused(!isPaused)
    setShown(waiting.reduceRight(withChange, shown))
    setWaiting([])
  }
  const choose = (choice: () => void): void => {
    setShown([])
    setWaiting([])
    choice()
  }
  const [tone, words] = CONNECTIONS[connection]
  return (
    <Page
      title="Live payments"
      actions={
        <button type="button" class="button" aria-pressed={isPaused} onClick={togglePause}>
          {isPaused && waiting.length > 0 ? `Resume (${waiting.length} new)` : 'Pause'}
        </button>
      }
    >
      <div class="toolbar">
        <p class="connection">
          <Badge tone={isPaused ? 'plain' : tone}>{isPaused ? 'Paused' : words}</Badge>
        </p>
        <NetworkField value={network} onValue={(one) => choose(() => setNetwork(one))} />
        <ProjectField value={project} onValue={(one) => choose(() => setProject(one))} />
      </div>
      <ProblemNotice problem={newest.problem} onRetry={newest.reload} />
      <div class="loaded room-tall" aria-busy={newest.isLoading}>
        {shown.length === 0 && newest.data ? (
          <Empty title="No payments yet">
            <p>New payments appear here automatically.</p>
          </Empty>
        ) : (
          <SettlementTable caption="Newest payments" rows={shown} isAgo />
        )}
      </div>
    </Page>
  )
}

/** Adds or updates a settlement, unless the list has a newer version. */
function withChange(list: readonly Settlement[], changed: Settlement): readonly Settlement[] {
  const known = list.find(({ id }) => id === changed.id)
  if (known !== undefined && known.updatedAt > changed.updatedAt) return list
  if (known !== undefined) return list.map((one) => (one.id === changed.id ? changed : one))
  return [changed, ...list]
    .toSorted((one, other) => other.createdAt.localeCompare(one.createdAt))
    .slice(0, MAX_SHOWN)
}
