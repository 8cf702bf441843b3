import { useEffect, useRef } from 'preact/hooks'
import { CopyButton } from './copy-button.js'
import type { KeptPayment } from './kept-payment.js'
import { transactionUrl } from './receipt-facts.js'
import { formatTime, text } from './texts.js'

/** A receipt, folded until it is wanted. */
export function Receipt({ payment }: { readonly payment: KeptPayment }) {
  const folded = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const open = (): void => folded.current?.setAttribute('open', '')
    addEventListener('beforeprint', open)
    return () => removeEventListener('beforeprint', open)
  }, [])
  const rows = receiptRows(payment)
  const { transaction, seller } = payment.receipt
  const url = transactionUrl(payment.receipt)
  return (
    <details class="receipt" ref={folded}>
      <summary>
        <h2>{`${text('receipt')} · ${seller}`}</h2>
      </summary>
      <dl>
        {rows.map(([label, value, isCode]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd class={isCode ? 'code' : ''}>
              {value === transaction ? (
                <Transaction label={label} value={value} url={url} />
              ) : (
                value
              )}
            </dd>
          </div>
        ))}
      </dl>
      <div class="row">
        <CopyButton
          text={rows.map(([label, value]) => `${label}: ${value}`).join('\n')}
          of={text('receipt')}
        />
        <button type="button" class="small" onClick={printReceipt}>
          {text('print')}
        </button>
      </div>
    </details>
  )
}

interface TransactionProps {
  readonly label: string
  readonly value: string
  readonly url: string | undefined
}

function Transaction({ label, value, url }: TransactionProps) {
  return (
    <>
      {url === undefined ? (
        value
      ) : (
        <a href={url} target="_blank" rel="noopener noreferrer">
          {value}
        </a>
      )}
      <CopyButton text={value} of={label} />
    </>
  )
}

type Row = readonly [label: string, value: string, isCode?: boolean]

function receiptRows({ signedAt, receipt }: KeptPayment): readonly Row[] {
  const { number, title, seller, price, amount, network, testnet } = receipt
  const { payTo, payer, transaction } = receipt
  const rows: readonly (Row | undefined)[] = [
    number === undefined ? undefined : [text('number'), number, true],
    [text('date'), formatTime(signedAt)],
    [text('seller'), seller],
    [text('item'), title],
    [text('address'), location.origin + location.pathname, true],
    price === undefined ? undefined : [text('price'), price],
    [text('amount'), text('onNetwork', { amount, network })],
    testnet ? [text('note'), text('testBadge')] : undefined,
    [text('payer'), payer, true],
    [text('paidTo'), payTo, true],
    transaction === undefined ? undefined : [text('transactionHash'), transaction, true],
  ]
  return rows.filter((row) => row !== undefined)
}

/** Prints the receipt, without what was bought. */
function printReceipt(): void {
  const { classList } = document.documentElement
  classList.add('receipt-only')
  addEventListener('afterprint', () => classList.remove('receipt-only'), { once: true })
  print()
}
