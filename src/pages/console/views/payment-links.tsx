import { useState } from 'preact/hooks'
import { QrCode } from '../../browser/qr-code.js'
import { ask } from '../api/client.js'
import type { Checkout, ListOf, Settlement } from '../api/documents.js'
import { useAction, useLoad } from '../api/use-load.js'
import { formatFiat, formatToken } from '../format/money.js'
import { PaymentBadge, StatusBadge } from '../parts/badge.js'
import { Button } from '../parts/button.js'
import { Copyable } from '../parts/copy.js'
import { CurrencyField } from '../parts/currency-field.js'
import { Dialog } from '../parts/dialog.js'
import { AmountField, optionsOf, SelectField, TextField } from '../parts/field.js'
import { Form, useForm } from '../parts/form.js'
import { Empty, NoResults, ProblemNotice } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page } from '../parts/page.js'
import { Facts, List } from '../parts/table.js'
import { StrangerUrl, Time } from '../parts/values.js'
import { announce } from '../state/announce.js'
import { useSession } from '../state/session.js'
import { cursorOf, filtersOf, linkTo, queryOf, type Route } from '../state/route.js'

interface PaymentLinksProps {
  readonly route: Route
  /** The merchant, for an operator. @defaultValue the merchant that is signed in */
  readonly project?: string
}

const STATUSES = optionsOf('Any status', ['open', 'paid', 'expired', 'canceled'])

export function PaymentLinks({ route, project }: PaymentLinksProps) {
  const owner = project === undefined ? 'merchant' : `admin/projects/${encodeURIComponent(project)}`
  const path = `${owner}/checkouts`
  const { values, field, isFiltered } = filtersOf(route, ['status'])
  const query = queryOf({ ...values, cursor: cursorOf(route) })
  const loaded = useLoad<ListOf<'checkouts', Checkout>>(path + query)
  const [shown, setShown] = useState<Checkout | 'new'>()
  const close = (): void => setShown(undefined)
  const created = (checkout: Checkout): void => {
    setShown(checkout)
    loaded.reload()
  }
  return (
    <Page
      title="Payment links"
      back={
        project === undefined ? undefined : { href: linkTo(['merchants', project]), label: project }
      }
      actions={
        <Button kind="main" scope="settle" onClick={() => setShown('new')}>
          New payment link
        </Button>
      }
    >
      <div class="toolbar">
        <SelectField label="Status" options={STATUSES} {...field('status')} />
      </div>
      <List
        of={loaded}
        rows={({ checkouts }) => checkouts}
        room="tall"
        route={route}
        empty={() => (isFiltered ? <NoResults href={linkTo(route.path)} /> : <NoLinks />)}
        caption="Payment links"
        columns={[
          ['For', (one) => <Purpose of={one} />],
          ['Price', ({ amount, currency }) => formatFiat(amount, currency), 'number'],
          ['Status', (one) => <Status of={one} />],
          ['Created', ({ createdAt }) => <Time at={createdAt} as="ago" />, 'minor'],
          [
            'Expires',
            (one) => (one.status === 'open' ? <Time at={one.expiresAt} as="short" /> : '–'),
            'minor',
          ],
          ['Link', (one) => <Show of={one} onShow={setShown} />],
        ]}
      />
      {shown === 'new' && <NewLink path={path} onClose={close} onSaved={created} />}
      {shown !== undefined && shown !== 'new' && (
        <PaymentLink path={path} of={shown} onClose={close} onCancel={loaded.reload} />
      )}
    </Page>
  )
}

const NoLinks = () => (
  <Empty title="No payment links yet">
    A payment link can be sent to anybody, and is paid once.
  </Empty>
)

const Purpose = ({ of: { reference, description } }: Of<Checkout>) => (
  <>
    {description ?? reference ?? '–'}
    {description !== undefined && <small class="sub">{reference}</small>}
  </>
)

/** The status of a link. One that is just being paid says so. */
function Status({ of: { status, settlement } }: Of<Checkout>) {
  const isUnderWay = status === 'open' && settlement !== undefined
  return <StatusBadge status={isUnderWay ? 'pending' : status} />
}

function Show({ of, onShow }: Of<Checkout> & { readonly onShow: (shown: Checkout) => void }) {
  const label = `Show the link for ${of.description ?? of.reference ?? of.id}`
  return (
    <Button kind="small" label={label} onClick={() => onShow(of)}>
      Show
    </Button>
  )
}

interface NewLinkProps {
  /** Path of the list. */
  readonly path: string
  readonly onClose: () => void
  readonly onSaved: (created: Checkout) => void
}

const DAY = 24 * 3600

/** How long a link can be paid (s). */
const LIFETIMES = [
  ['3600', '1 hour'],
  [String(DAY), '1 day'],
  [String(7 * DAY), '7 days'],
  [String(30 * DAY), '30 days'],
  [String(90 * DAY), '90 days'],
] as const

const EMPTY = {
  amount: '',
  currency: 'USD',
  description: '',
  reference: '',
  successUrl: '',
  cancelUrl: '',
  expiresIn: String(7 * DAY),
}

function NewLink({ path, onClose, onSaved }: NewLinkProps) {
  const form = useForm({ initial: () => EMPTY, method: 'POST', path, bodyOf, onSaved })
  const { field } = form
  return (
    <Dialog title="New payment link" onClose={onClose}>
      <Form of={form} verb="Create link" onCancel={onClose}>
        <AmountField label="Price" placeholder="15.00" {...field('amount')} />
        <CurrencyField {...field('currency')} />
        <TextField
          label="Description"
          hint="What is bought. Buyers see it."
          {...field('description')}
        />
        <TextField
          label="Reference"
          hint="Your own name for the payment, like an order number."
          {...field('reference')}
        />
        <TextField
          label="After payment, go to"
          type="url"
          placeholder="https://shop.example/thanks"
          hint="The page that buyers see once they have paid."
          {...field('successUrl')}
        />
        <TextField
          label="Cancel URL"
          type="url"
          placeholder="https://shop.example/cart"
          hint="The page for those who do not want to pay."
          {...field('cancelUrl')}
        />
        <SelectField label="Valid for" options={LIFETIMES} {...field('expiresIn')} />
      </Form>
    </Dialog>
  )
}

/** What is sent: without fields that are empty. */
function bodyOf({ expiresIn, ...texts }: typeof EMPTY): object {
  const given = Object.entries(texts)
    .map(([name, text]) => [name, text.trim()] as const)
    .filter(([, text]) => text !== '')
  return { ...Object.fromEntries(given), expiresIn: Number(expiresIn) }
}

interface PaymentLinkProps extends Of<Checkout> {
  /** Path of the list. */
  readonly path: string
  readonly onClose: () => void
  /** Called once the merchant has canceled it. */
  readonly onCancel: () => void
}

/** One payment link: its address, for eyes and for cameras, and what has become of it. */
function PaymentLink({ path, of, onClose, onCancel }: PaymentLinkProps) {
  const [checkout, setCheckout] = useState(of)
  const { url, status, amount, currency, reference, description } = checkout
  const { successUrl, cancelUrl, settlement, expiresAt, paidAt } = checkout
  const isOpen = status === 'open'
  const cancel = useAction(async () => {
    setCheckout(await ask<Checkout>('POST', `${path}/${of.id}/cancel`))
    announce('The payment link was canceled.')
    onCancel()
  })
  const toSettlement = settlement && linkTo(['settlements', settlement])
  const { role } = useSession()
  const { data: payment } = useLoad<Settlement>(settlement && `${role}/settlements/${settlement}`)
  const refunded = payment?.refunded
  return (
    <Dialog title="Payment link" onClose={onClose}>
      {isOpen && <QrCode text={url} label="QR code of the payment link" />}
      <Copyable text={url} label="Link" />
      <Facts
        of={[
          ['Status', refunded ? <PaymentBadge of={payment} /> : <Status of={checkout} />],
          ['Price', formatFiat(amount, currency)],
          ['Refunded', refunded && formatToken({ ...payment, amount: refunded })],
          ['Description', description],
          ['Reference', reference],
          ['Paid', paidAt && <Time at={paidAt} />],
          ['Expires', isOpen && <Time at={expiresAt} />],
          ['Settlement', toSettlement && <a href={toSettlement}>View settlement</a>],
          ['After payment, go to', successUrl && <StrangerUrl url={successUrl} />],
          ['Cancel URL', cancelUrl && <StrangerUrl url={cancelUrl} />],
        ]}
      />
      <ProblemNotice problem={cancel.problem} />
      <div class="actions dialog-foot">
        {isOpen && (
          <Button kind="danger" scope="settle" action={cancel}>
            Cancel the link
          </Button>
        )}
        <Button kind="main" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  )
}
