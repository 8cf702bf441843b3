import type { AuditEntry, ListOf } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { words } from '../format/text.js'
import { Changes } from '../parts/changes.js'
import { Empty } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page } from '../parts/page.js'
import { ProjectField } from '../parts/project-field.js'
import { List } from '../parts/table.js'
import { MerchantLink, Time } from '../parts/values.js'
import { cursorOf, filtersOf, queryOf, type Route } from '../state/route.js'

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
          ['Merchant', (entry) => <MerchantLink of={entry} />, 'minor'],
          ['By', ({ actor }) => actor, 'minor'],
          [
            'Change',
            (entry) => (
              <>
                {entry.token && <code>{entry.token}</code>}
                <Changes before={entry.before} after={entry.after} />
              </>
            ),
          ],
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
          <MerchantLink of={of} />
        </small>
      </span>
    </>
  )
}

/** The API says project where this page says merchant, and no pause: that is a change of who has paused it. */
function actionOf({ action, before = {}, after = {} }: AuditEntry): string {
  if ('pausedBy' in after) return 'Merchant paused'
  if ('pausedBy' in before) return 'Merchant resumed'
  return words(action.replace('project', 'merchant').replace('checkout', 'payment link'))
}
