import type { AuditEntry } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { words } from '../format/text.js'
import { Empty, LoadedView } from '../parts/notice.js'
import { Page } from '../parts/page.js'
import { Pager } from '../parts/pager.js'
import { ProjectField } from '../parts/project-field.js'
import { Table } from '../parts/table.js'
import { MerchantLink, Time } from '../parts/values.js'
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
        {
          title: 'Time',
          cell: (entry) => (
            <>
              <Time at={entry.at} as="short" />
              <span class="phone">
                {actionOf(entry)}
                <small class="sub">
                  <MerchantLink id={entry.project} />
                </small>
              </span>
            </>
          ),
        },
        { title: 'Action', isMinor: true, cell: actionOf },
        { title: 'Merchant', isMinor: true, cell: ({ project }) => <MerchantLink id={project} /> },
        { title: 'By', isMinor: true, cell: ({ actor }) => actor },
        { title: 'Change', cell: (entry) => <Change of={entry} /> },
      ]}
    />
  )
}

/** The API says project where this page says merchant. */
const actionOf = ({ action }: AuditEntry): string => words(action.replace('project', 'merchant'))

/** Members that differ, with old and new values. */
function Change({ of: { token, before = {}, after = {} } }: { readonly of: AuditEntry }) {
  const [was, is] = [flatten(before), flatten(after)]
  const names = [...new Set([...was.keys(), ...is.keys()])]
  return (
    <ul class="changes">
      {token !== undefined && (
        <li>
          <code>{token}</code>
        </li>
      )}
      {names
        .filter((name) => was.get(name) !== is.get(name))
        .map((name) => (
          <li key={name}>
            {name} {was.has(name) && <del>{was.get(name)}</del>}{' '}
            {is.has(name) && <Value name={name} value={is.get(name) ?? ''} />}
          </li>
        ))}
    </ul>
  )
}

/** A new value. Payments are linked. */
function Value({ name, value }: { readonly name: string; readonly value: string }) {
  const isPayment = name === 'settlement'
  return <ins>{isPayment ? <a href={linkTo(['settlements', value])}>{value}</a> : value}</ins>
}

/** Longest value that is shown: a logo is as long as its picture. */
const MAX_SHOWN = 200

/** The members of an object and of the objects in it, as text. */
function flatten(object: object, prefix = ''): Map<string, string> {
  return new Map(
    Object.entries(object).flatMap(([name, value]: [string, unknown]) => {
      const path = prefix + name
      if (Array.isArray(value)) return [[path, value.map(inWords).join(', ')] as const]
      if (typeof value === 'object' && value !== null) return [...flatten(value, `${path}.`)]
      return [[path, shown(value)] as const]
    }),
  )
}

/** An entry of a list: of `accepts`, say. */
function inWords(value: unknown): string {
  const { asset, network } = { asset: undefined, network: undefined, ...(value as object) }
  return asset === undefined ? shown(value) : `${shown(asset)} on ${shown(network)}`
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, 40)}… (${text.length} characters)` : text
}
