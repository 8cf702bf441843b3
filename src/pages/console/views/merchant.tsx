import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { Project } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { Confirm } from '../parts/dialog.js'
import { May } from '../parts/may.js'
import { LoadedView, Notice } from '../parts/notice.js'
import { Page, Section } from '../parts/page.js'
import { announce } from '../state/announce.js'
import { linkTo, navigate } from '../state/route.js'
import { BrandingSection } from './branding.js'
import { MerchantForm } from './merchant-form.js'
import { MerchantFacts } from './merchant-facts.js'
import { NextPayTo } from './next-pay-to.js'
import { PauseButton, PausedNotice } from './pause.js'
import { Tokens } from './tokens.js'
import { WebhookList } from './webhook-list.js'
import { webhooksOf } from './webhook-owner.js'

/** One merchant: its settings, tokens and webhooks. */
export function MerchantView({ id }: { readonly id: string }) {
  const path = `admin/projects/${encodeURIComponent(id)}`
  const loaded = useLoad<Project>(path)
  const [isDeleting, setDeleting] = useState(false)
  const isStored = loaded.data?.source === 'database'
  return (
    <Page
      title={id}
      back={{ href: linkTo(['merchants']), label: 'Merchants' }}
      actions={
        <>
          <a class="button" href={linkTo(['settlements'], { project: id })}>
            View payments
          </a>
          <a class="button" href={linkTo(['merchants', id, 'links'])}>
            Payment links
          </a>
          {loaded.data && <PauseButton of={loaded.data} path={path} onChange={loaded.reload} />}
          {isStored && (
            <May scope="own">
              <button type="button" class="button" onClick={() => setDeleting(true)}>
                Delete…
              </button>
            </May>
          )}
        </>
      }
    >
      <LoadedView of={loaded} room="tall">
        {(project) => (
          <>
            <PausedNotice of={project} path={path} onChange={loaded.reload} />
            <Settings of={project} onSaved={loaded.reload} />
            <BrandingSection of={project} path={path} onSaved={loaded.reload} />
          </>
        )}
      </LoadedView>
      {loaded.data && (
        <>
          <Tokens path={`${path}/tokens`} />
          <WebhookList owner={webhooksOf(id)} />
        </>
      )}
      {isDeleting && <Delete id={id} path={path} onClose={() => setDeleting(false)} />}
    </Page>
  )
}

interface DeleteProps {
  readonly id: string
  readonly path: string
  readonly onClose: () => void
}

/** Deletes a merchant, after asking. */
function Delete({ id, path, onClose }: DeleteProps) {
  return (
    <Confirm
      title={`Delete ${id}?`}
      verb="Delete merchant"
      act={() => ask('DELETE', path)}
      onClose={onClose}
      onDone={() => {
        announce(`${id} was deleted.`)
        navigate(linkTo(['merchants']))
      }}
    >
      <p>
        Tokens and webhooks stop working at once. Payments are kept, and the id cannot be used
        again.
      </p>
    </Confirm>
  )
}

function Settings({ of, onSaved }: { readonly of: Project; readonly onSaved: () => void }) {
  const [isEdited, setEdited] = useState(false)
  const isStored = of.source === 'database'
  return (
    <Section
      title="Settings"
      actions={
        isStored &&
        !isEdited && (
          <May scope="manage">
            <button type="button" class="button" onClick={() => setEdited(true)}>
              Edit
            </button>
          </May>
        )
      }
    >
      {!isStored && (
        <Notice>
          This merchant is defined in the configuration and must be changed there. You can manage
          its tokens and webhooks here.
        </Notice>
      )}
      {of.errors && (
        <Notice>
          This merchant cannot be paid: its settings are no longer valid for this gateway:{' '}
          {of.errors.map(({ path, message }) => `${path} ${message}`).join('; ')}
        </Notice>
      )}
      {isEdited ? (
        <MerchantForm
          project={of}
          onCancel={() => setEdited(false)}
          onSaved={() => {
            announce('The settings were saved.')
            setEdited(false)
            onSaved()
          }}
        />
      ) : (
        <>
          <NextPayTo of={of} onChange={onSaved} />
          <MerchantFacts of={of} />
        </>
      )}
    </Section>
  )
}
