import type { AuditEntry } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { words } from '../format/text.js'
import { Empty, LoadedView } from '../parts/notice.js'
import { Page } from '../parts/page.js'
import { Pager } from '../parts/pager.js'
import { ProjectField } from '../parts/project-field.js'
import { Table } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { cursorOf, linkTo, navigate, queryOf, type Route } from '../state/route.js'

interface Entries {
  readonly entries: readonly AuditEntry[]
  readonly nextCursor?: string
}

export function AuditLog({ route }: { readonly route: Route }) {
  const project = route.query.get('project') ?? ''
  const cursor = cursorOf(route)
  const loaded = useLoad<Entries>(`admin/audit-log${queryOf({ project, cursor, limit: '50' })}`)
  return (
    <Page title="Audit log">
      <div class="toolbar">
        <ProjectField
          value={project}
          onValue={(chosen) => navigate(linkTo(['audit'], { project: chosen }))}
        />
      </div>
      <LoadedView of={loaded} room="tall">
        {({ entries, nextCursor }) => (
          <>
            {entries.length === 0 ? <Empty title="No changes yet" /> : <AuditTable of={entries} />}
            <Pager route={route} next={nextCursor} />
          </>
        )}
      </LoadedView>
    </Page>
  )
}

function AuditTable({ of }: { readonly of: readonly AuditEntry[] }) {
  return (
    <Table
      caption="Changes, newest first"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Time', cell: ({ at }) => <Time at={at} as="short" /> },
        { title: 'Action', cell: ({ action }) => words(action) },
        {
          title: 'Merchant',
          cell: ({ project }) =>
            project !== undefined && <a href={linkTo(['merchants', project])}>{project}</a>,
        },
        { title: 'By', isMinor: true, cell: ({ actor }) => <code>{actor}</code> },
        { title: 'Change', cell: (entry) => <Change of={entry} /> },
      ]}
    />
  )
}

/** Members that differ, with old and new values. */
function Change({ of: { token, before = {}, after = {} } }: { readonly of: AuditEntry }) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = names
    .map((name) => ({ name, was: shown(before[name]), is: shown(after[name]) }))
    .filter(({ was, is }) => was !== is)
  return (
    <ul class="changes">
      {token !== undefined && (
        <li>
          <code>{token}</code>
        </li>
      )}
      {changed.map(({ name, was, is }) => (
        <li key={name}>
          {name} {was !== '' && <del>{was}</del>} {is !== '' && <ins>{is}</ins>}
        </li>
      ))}
    </ul>
  )
}

function shown(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
