import { useEffect, useRef, useState } from 'preact/hooks'
import { data } from './data.js'
import { asFile, type Delivery } from './deliver.js'
import { update, type KeptPayment } from './kept-payment.js'
import { Link, NoticeText } from './notice.js'
import { transactionUrl } from './receipt-facts.js'
import { Receipt } from './receipt.js'
import { text } from './texts.js'

interface ResultProps {
  readonly delivery: Delivery
  /** `undefined` if the seller gave it for nothing. */
  readonly payment: KeptPayment | undefined
}

export function Result({ delivery, payment }: ResultProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  if (delivery.kind === 'leaving')
    return (
      <p class="step" role="status">
        {text('receiving')}
      </p>
    )
  const url = payment && transactionUrl(payment.receipt)
  return (
    <section class="result">
      <h2 ref={heading} tabIndex={-1} class="notice good">
        {headline(delivery, payment)}
      </h2>
      {payment !== undefined && (
        <>
          {url !== undefined && (
            <p>
              <Link to={url} label={text('transaction')} />
            </p>
          )}
          <Receipt payment={payment} />
        </>
      )}
      <div class="goods">
        <Goods delivery={delivery} payment={payment} />
      </div>
    </section>
  )
}

function headline(delivery: Delivery, payment: KeptPayment | undefined): string {
  // Nothing was charged where there is no transaction.
  if (payment?.receipt.transaction === undefined) return text('free')
  return delivery.kind === 'file' ? text('saved', { name: delivery.name }) : text('paid')
}

interface GoodsProps extends ResultProps {
  readonly delivery: Exclude<Delivery, { kind: 'leaving' }>
}

function Goods({ delivery, payment }: GoodsProps) {
  switch (delivery.kind) {
    case 'file':
      return (
        <>
          {delivery.isPage && <p>{text('tooLargeToShow')}</p>}
          <SaveLink {...delivery} label={text('saveAgain')} />
        </>
      )
    case 'json':
      return (
        <>
          <pre tabIndex={0}>{delivery.json}</pre>
          <SaveLink {...delivery} />
        </>
      )
    case 'media': {
      const { tag: Tag, shown } = delivery
      return (
        <>
          {Tag === 'img' ? <img src={shown} alt="" /> : <Tag src={shown} controls />}
          <SaveLink {...delivery} />
        </>
      )
    }
    case 'text':
      return <StreamedText {...delivery} payment={payment} />
  }
}

interface SaveLinkProps {
  readonly url: string
  readonly name: string
  readonly label?: string
}

function SaveLink({ url, name, label = text('saveAsFile') }: SaveLinkProps) {
  return (
    <p>
      <a href={url} download={name}>
        {label}
      </a>
    </p>
  )
}

interface StreamedTextProps {
  readonly stream: ReadableStream<Uint8Array> | null
  readonly name: string
  readonly payment: KeptPayment | undefined
}

/** Shows text as it arrives. It was received once it is whole. */
function StreamedText({ stream, name, payment }: StreamedTextProps) {
  const place = useRef<HTMLPreElement>(null)
  const [isLost, setLost] = useState(false)
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const show = async (): Promise<void> => {
      const whole = await readInto(stream, (part) => place.current?.append(part))
      setUrl(asFile(whole))
      if (payment === undefined) return
      update({ ...payment, received: whole.size > data.maxStoredBytes ? 'once' : 'again' })
    }
    show().catch(() => setLost(true))
  }, [stream, payment])
  return (
    <>
      <pre ref={place} tabIndex={0} />
      {url !== undefined && <SaveLink url={url} name={name} />}
      {isLost && (
        <>
          <NoticeText notice={{ message: text('connectionLost') }} />
          <div class="buttons">
            <button type="button" onClick={() => location.reload()}>
              {text('tryAgain')}
            </button>
          </div>
        </>
      )}
    </>
  )
}

/** @returns All of it. */
async function readInto(
  stream: ReadableStream<Uint8Array> | null,
  append: (part: string) => void,
): Promise<Blob> {
  const reader = stream?.getReader()
  const parts: BlobPart[] = []
  if (reader === undefined) return new Blob(parts)
  const decoder = new TextDecoder()
  for (;;) {
    // oxlint-disable-next-line eslint/no-await-in-loop
    const { done, value } = await reader.read()
    append(decoder.decode(value, { stream: !done }))
    if (done) return new Blob(parts)
    parts.push(value as Uint8Array<ArrayBuffer>)
  }
}
