import { useEffect, useRef, useState } from 'preact/hooks'
import { data } from './data.js'
import type { Delivery } from './deliver.js'
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
        <p>
          {delivery.isPage && `${text('tooLargeToShow')} `}
          <a href={delivery.url} download={delivery.name}>
            {text('saveAgain')}
          </a>
        </p>
      )
    case 'json':
      return (
        <>
          <pre tabIndex={0}>{delivery.json}</pre>
          <p>
            <a href={delivery.url} download={delivery.name}>
              {text('saveAsFile')}
            </a>
          </p>
        </>
      )
    case 'media':
      if (delivery.tag === 'img') return <img src={delivery.url} alt="" />
      return delivery.tag === 'audio' ? (
        <audio src={delivery.url} controls />
      ) : (
        <video src={delivery.url} controls />
      )
    case 'text':
      return <StreamedText stream={delivery.stream} payment={payment} />
  }
}

interface StreamedTextProps {
  readonly stream: ReadableStream<Uint8Array> | null
  readonly payment: KeptPayment | undefined
}

/** Shows text as it arrives. It was received once it is whole. */
function StreamedText({ stream, payment }: StreamedTextProps) {
  const place = useRef<HTMLPreElement>(null)
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    const show = async (): Promise<void> => {
      const bytes = await readInto(stream, (part) => place.current?.append(part))
      if (payment === undefined) return
      update({ ...payment, received: bytes > data.maxStoredBytes ? 'once' : 'again' })
    }
    show().catch(() => setLost(true))
  }, [stream, payment])
  return (
    <>
      <pre ref={place} tabIndex={0} />
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

/** @returns The number of bytes. */
async function readInto(
  stream: ReadableStream<Uint8Array> | null,
  append: (part: string) => void,
): Promise<number> {
  const reader = stream?.getReader()
  let bytes = 0
  if (reader === undefined) return bytes
  const decoder = new TextDecoder()
  for (;;) {
    // oxlint-disable-next-line eslint/no-await-in-loop
    const { done, value } = await reader.read()
    append(decoder.decode(value, { stream: !done }))
    if (done) return bytes
    bytes += value.length
  }
}
