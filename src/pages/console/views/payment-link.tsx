import { useState } from 'preact/hooks'
import { QrCode } from '../../browser/qr-code.js'
import { ask } from '../api/client.js'
import type { Checkout } from '../api/documents.js'
import { useAction } from '../api/use-load.js'
import { formatFiat } from '../format/money.js'
import { StatusBadge } from '../parts/badge.js'
import { Copyable } from '../parts/copy.js'
import { May } from '../parts/may.js'
import { ProblemNotice } from '../parts/notice.js'
import { Facts } from '../parts/table.js'
import { StrangerUrl, Time } from '../parts/values.js'
import { announce } from '../state/announce.js'
import { linkTo } from '../state/route.js'

interface PaymentLinkProps {
  /** Its path in the API. */
  readonly path: string
  readonly of: Checkout
  readonly onClose: () => void
  /** Called once the merchant has canceled it. */
  readonly onCancel: () => void
}

/** One payment link: its address, for eyes and for cameras, and what has become of it. */
export function PaymentLink({ path, of, onClose, onCancel }: PaymentLinkProps) {
  const [checkout, setCheckout] = useState(of)
  const action = useAction()
  const { url, status, amount, currency, reference, description } = checkout
  const { successUrl, cancelUrl, settlement, expiresAt, paidAt } = checkout
  const cancel = async (): Promise<void> => {
    setCheckout(await ask<Checkout>('POST', `${path}/cancel`))
    announce('The payment link was canceled.')
    onCancel()
  }
  return (
    <>
      {status === 'open' && <QrCode text={url} label="QR code of the payment link" />}
      <Copyable text={url} label="Link" />
      <Facts
        of={[
          ['Status', <LinkStatus of={checkout} />],
          ['Price', formatFiat(amount, currency)],
          ['For', description],
          ['Reference', reference],
          ['Paid', paidAt && <Time at={paidAt} />],
          ['Expires', status === 'open' && <Time at={expiresAt} />],
          [
            'Settlement',
            settlement && <a href={linkTo(['settlements', settlement])}>View settlement</a>,
          ],
          ['Then go to', successUrl && <StrangerUrl url={successUrl} />],
          ['Back to', cancelUrl && <StrangerUrl url={cancelUrl} />],
        ]}
      />
      <ProblemNotice problem={action.problem} />
      <div class="actions dialog-foot">
        {status === 'open' && (
          <May scope="settle">
            <button
              type="button"
              class="button button-danger"
              aria-disabled={action.isBusy}
              onClick={() => void action.run(cancel)}
            >
              Cancel the link
            </button>
          </May>
        )}
        <button type="button" class="button button-main" onClick={onClose}>
          Done
        </button>
      </div>
    </>
  )
}

/** The status of a link. One that is just being paid says so. */
export function LinkStatus({ of: { status, settlement } }: { readonly of: Checkout }) {
  const isUnderWay = status === 'open' && settlement !== undefined
  return <StatusBadge status={isUnderWay ? 'pending' : status} />
}
