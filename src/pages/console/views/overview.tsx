import { useMemo } from 'preact/hooks'
import type { Funnel, Revenue } from '../api/documents.js'
import { useFresh } from '../api/use-load.js'
import { DateRangeFields, lastDays, spanOf, type DateRange } from '../parts/date-range.js'
import { LoadedView } from '../parts/notice.js'
import { Page, Section } from '../parts/page.js'
import { NetworkField, networkQuery } from '../parts/network-field.js'
import { ProjectField } from '../parts/project-field.js'
import { linkTo, navigate, queryOf, type Route } from '../state/route.js'
import { useSession } from '../state/session.js'
import { shownZone } from '../format/zone.js'
import { FunnelChart, Reasons } from './overview-funnel.js'
import { Headline } from './overview-headline.js'
import { RevenueChart, RevenueShares } from './overview-revenue.js'

export function Overview({ route }: { readonly route: Route }) {
  const { role } = useSession()
  const project = route.query.get('project') ?? ''
  const network = route.query.get('network') ?? ''
  const range = useMemo(() => rangeOf(route), [route])
  const go = (
    change: Partial<DateRange & { readonly project: string; readonly network: string }>,
  ): void => navigate(linkTo(['overview'], { ...range, project, network, ...change }))
  const path = (view: string, money?: object): string =>
    `${role}/${view}${queryOf({ ...spanOf(range), project, ...money })}`
  const revenueBy = (by: string): string => path('revenue', { by, ...networkQuery(network) })
  const sharesBy = role === 'admin' && project === '' ? 'project' : 'resource'
  const revenue = useFresh<Revenue>(revenueBy('day'))
  const funnel = useFresh<Funnel>(path('funnel'))
  const shares = useFresh<Revenue>(revenueBy(sharesBy))
  return (
    <Page title="Overview">
      <div class="toolbar">
        <DateRangeFields value={range} onValue={go} />
        <NetworkField value={network} onValue={(chosen) => go({ network: chosen })} isSum />
        <ProjectField value={project} onValue={(chosen) => go({ project: chosen })} />
      </div>
      <Headline revenue={revenue} funnel={funnel} />
      <Section
        title="Revenue by day"
        note={`Settled payments less refunds, by day (${shownZone()}).`}
      >
        <LoadedView of={revenue} room="tall">
          {(data) => <RevenueChart of={data} range={range} />}
        </LoadedView>
      </Section>
      <Section
        title="Conversion"
        note={`Prices shown, payments attempted, and payments settled${network === '' ? '' : ', on all networks'}.`}
      >
        <LoadedView of={funnel} room="tall">
          {(data) => <FunnelChart of={data} range={range} />}
        </LoadedView>
      </Section>
      <div class="columns">
        <Section title="Refused and failed payments">
          <LoadedView of={funnel}>{({ total }) => <Reasons of={total} />}</LoadedView>
        </Section>
        <Section title={sharesBy === 'project' ? 'Revenue by merchant' : 'Revenue by resource'}>
          <LoadedView of={shares}>
            {(data) => <RevenueShares of={data.revenue} by={sharesBy} />}
          </LoadedView>
        </Section>
      </div>
    </Page>
  )
}

const DAY = /^\d{4}-\d{2}-\d{2}$/

/** Days of the URL, or the last 30. */
function rangeOf({ query }: Route): DateRange {
  const usual = lastDays(30)
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? '']
  const isRange = DAY.test(from) && DAY.test(to) && from <= to && Date.parse(to) > 0
  return isRange ? { from, to } : usual
}
