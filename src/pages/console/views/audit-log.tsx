import type { AuditEntry, ListOf } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { words } from '../format/text.js'
import { Empty } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page } from '../parts/page.js'
import { ProjectField } from '../parts/project-field.js'
import { List } from '../parts/table.js'
import { MerchantLink, Time } from '../parts/values.js'
import { cursorOf, filtersOf, linkTo, queryOf, type Route } from '../state/route.js'

export function AuditLog({ route }: { readonly route: Route }) {
  const { values, field } = filtersOf(route, ['project'])
  const query = { ...values, cursor: cursorOf(route), limit: '50' }
  return (
    <Page title="Audit log">
      <div class="toolbar">
        <ProjectField {...field('project')} />
      </div>
      <List
        of={useLoad<ListOf<'entries', AuditEntry>>(`admin/audit-log${queryOf(query)}`)}
        rows={({ entries }) => entries}
        room="tall"
        route={route}
        empty={() => <Empty title="No changes yet" />}
        caption="Changes, newest first"
        columns={[
          ['Time', (entry) => <When of={entry} />],
          ['Action', actionOf, 'minor'],
          ['Merchant', ({ project }) => <MerchantLink id={project} />, 'minor'],
          ['By', ({ actor }) => actor, 'minor'],
          ['Change', (entry) => <Change of={entry} />],
        ]}
      />
    </Page>
  )
}

function When({ of }: Of<AuditEntry>) {
  return (
    <>
      <Time at={of.at} as="short" />
      <span class="phone">
        {actionOf(of)}
        <small class="sub">
          <MerchantLink id={of.project} />
        </small>
      </span>
    </>
  )
}

/** The API says project where this page says merchant. */
const actionOf = ({ action }: AuditEntry): string => words(action.replace('project', 'merchant'))

/** Members that differ, with old and new values. */
function Change({ of: { token, before = {}, after = {} } }: Of<AuditEntry>) {
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
