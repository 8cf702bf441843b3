import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { Project } from '../api/documents.js'
import { useAction, useLoad } from '../api/use-load.js'
import { formatFiat } from '../format/money.js'
import { formatDuration } from '../format/text.js'
import { Button, May } from '../parts/button.js'
import { CopyButton } from '../parts/copy.js'
import { Confirm } from '../parts/dialog.js'
import { LoadedView, Notice, ProblemNotice } from '../parts/notice.js'
import type { Of, OfProject } from '../parts/of.js'
import { EditableSection, Page, Section } from '../parts/page.js'
import { Facts } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { announce } from '../state/announce.js'
import { linkTo, navigate } from '../state/route.js'
import { BrandingSection } from './branding.js'
import { draftOf } from './merchant-draft.js'
import { MerchantForm, Unsellable } from './merchant-form.js'
import { PauseButton, PausedNotice } from './pause.js'
import { Tokens } from './tokens.js'
import { WebhookList } from './webhook-list.js'
import { webhooksOf } from './webhook-owner.js'

/** One merchant: its settings, tokens and webhooks. */
export function MerchantView({ id }: { readonly id: string }) {
  const path = `admin/projects/${encodeURIComponent(id)}`
  const loaded = useLoad<Project>(path)
  const { data, reload } = loaded
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
          {data && <PauseButton of={data} path={path} onChange={reload} />}
          {data?.source === 'database' && <DeleteButton id={id} path={path} />}
        </>
      }
    >
      <LoadedView of={loaded} room="tall">
        {(project) => (
          <>
            <PausedNotice of={project} path={path} onChange={reload} />
            <Settings of={project} path={path} onChange={reload} />
            <BrandingSection of={project} path={path} onChange={reload} />
          </>
        )}
      </LoadedView>
      {data && (
        <>
          <Tokens path={`${path}/tokens`} />
          <WebhookList owner={webhooksOf(id)} />
        </>
      )}
    </Page>
  )
}

const OWN = 'merchant/project'

/** A merchant's own settings, payment page and tokens. */
export function OwnProject() {
  const loaded = useLoad<Project>(OWN)
  const { data, reload } = loaded
  return (
    <Page title="Settings" actions={data && <PauseButton of={data} path={OWN} onChange={reload} />}>
      <LoadedView of={loaded} room="tall">
        {(project) => (
          <>
            <PausedNotice of={project} path={OWN} onChange={reload} />
            <Section title="Payments" note="Only the operator can change these, except the name.">
              <NextPayTo of={project} path={OWN} onChange={reload} />
              <MerchantFacts of={project} />
            </Section>
            <BrandingSection of={project} path={OWN} onChange={reload} />
          </>
        )}
      </LoadedView>
      <May scope="manage">
        <Tokens path="merchant/tokens" />
      </May>
    </Page>
  )
}

/** Deletes a merchant, after asking. */
function DeleteButton({ id, path }: { readonly id: string; readonly path: string }) {
  const [isAsked, setAsked] = useState(false)
  return (
    <May scope="own">
      <Button onClick={() => setAsked(true)}>Delete…</Button>
      {isAsked && (
        <Confirm
          title={`Delete ${id}?`}
          verb="Delete merchant"
          act={() => ask('DELETE', path)}
          onClose={() => setAsked(false)}
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
      )}
    </May>
  )
}

function Settings({ of, path, onChange }: OfProject) {
  const isStored = of.source === 'database'
  return (
    <EditableSection
      title="Settings"
      mayEdit={isStored}
      saved="The settings were saved."
      onSaved={onChange}
      lead={
        <>
          {!isStored && (
            <Notice>
              This merchant is defined in the configuration and must be changed there. You can
              manage its tokens and webhooks here.
            </Notice>
          )}
          {of.merchant && <Unsellable of={draftOf(of)} />}
          {of.errors && (
            <Notice>
              This merchant cannot be paid: its settings are no longer valid for this gateway:{' '}
              {of.errors.map((error) => `${error.path} ${error.message}`).join('; ')}
            </Notice>
          )}
        </>
      }
      form={(end) => <MerchantForm project={of} {...end} />}
    >
      <NextPayTo of={of} path={path} onChange={onChange} />
      <MerchantFacts of={of} />
    </EditableSection>
  )
}

/** The address that will be paid, and how to take it back. */
function NextPayTo({ of: { merchant, nextPayTo, version }, path, onChange }: OfProject) {
  const takeBack = useAction(async () => {
    // The version: once the new address is paid, this would redirect payments.
    await ask('PATCH', path, { body: { merchant: { payTo: merchant?.payTo } }, version })
    announce('The new address was taken back.')
    onChange()
  })
  if (nextPayTo === undefined) return null
  return (
    <>
      <Notice>
        <p>
          From <Time at={nextPayTo.at} /> on, payments go to{' '}
          <code class="break">{nextPayTo.payTo}</code>.
        </p>
        <Button scope="own" action={takeBack}>
          Keep the current address
        </Button>
      </Notice>
      <ProblemNotice problem={takeBack.problem} />
    </>
  )
}

const V1 = { true: 'served', false: 'not served', default: 'Gateway default' }

/** Settings of a merchant, with defaults. */
function MerchantFacts({ of: { merchant, createdAt, updatedAt } }: Of<Project>) {
  if (merchant === undefined) return <p>This project has tokens but no merchant.</p>
  const { payTo, currency = 'USD', accepts, minAmount, maxAmount, maxTimeoutSeconds } = merchant
  const limit = (amount: string | undefined): string =>
    amount === undefined ? 'none' : formatFiat(amount, currency)
  const tokens = accepts?.map(({ network, asset }) => `${asset} on ${network}`).join(', ')
  const address = payTo && (
    <>
      <code class="break">{payTo}</code> <CopyButton text={payTo} label="address" />
    </>
  )
  return (
    <Facts
      of={[
        ['Name', merchant.name],
        ['Paid to', address],
        ['Currency', currency],
        ['Accepts', tokens ?? 'all tokens of the gateway'],
        ['Other currencies', merchant.crossCurrency ? 'accepted' : 'not accepted'],
        ['Minimum amount', limit(minAmount)],
        ['Maximum amount', limit(maxAmount)],
        ['Offer expires after', formatDuration((maxTimeoutSeconds ?? 300) * 1000)],
        ['Public catalogue', merchant.listed === false ? 'not listed' : 'listed'],
        ['x402 version 1', V1[`${merchant.v1 ?? 'default'}`]],
        ['Created', createdAt && <Time at={createdAt} />],
        ['Changed', updatedAt && updatedAt !== createdAt && <Time at={updatedAt} />],
      ]}
    />
  )
}
