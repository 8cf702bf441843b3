import type { Project } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { May } from '../parts/may.js'
import { LoadedView } from '../parts/notice.js'
import { Page, Section } from '../parts/page.js'
import { BrandingSection } from './branding.js'
import { MerchantFacts } from './merchant-facts.js'
import { NextPayTo } from './next-pay-to.js'
import { PauseButton, PausedNotice } from './pause.js'
import { Tokens } from './tokens.js'

const PATH = 'merchant/project'

/** A merchant's own settings, payment page and tokens. */
export function OwnProject() {
  const loaded = useLoad<Project>(PATH)
  const { data, reload } = loaded
  return (
    <Page
      title="Settings"
      actions={data && <PauseButton of={data} path={PATH} onChange={reload} />}
    >
      <LoadedView of={loaded} room="tall">
        {(project) => (
          <>
            <PausedNotice of={project} path={PATH} onChange={reload} />
            <Section title="Payments" note="Only the operator can change these, except the name.">
              <NextPayTo of={project} onChange={reload} />
              <MerchantFacts of={project} />
            </Section>
            <BrandingSection of={project} path={PATH} onSaved={reload} />
          </>
        )}
      </LoadedView>
      <May scope="manage">
        <Tokens path="merchant/tokens" />
      </May>
    </Page>
  )
}
