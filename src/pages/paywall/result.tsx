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

/** Shows text as it arrives. It was received once it is whole; if the rest is lost, what has arrived can be saved. */
function StreamedText({ stream, name, payment }: StreamedTextProps) {
  const place = useRef<HTMLPreElement>(null)
  const [isLost, setLost] = useState(false)
  const [url, setUrl] = useState<string>()
  const [cut, setCut] = useState('')
  useEffect(() => {
    const parts: Uint8Array<ArrayBuffer>[] = []
    let [size, kept] = [0, 0]
    const onPart: Parameters<typeof readInto>[2] = (part, isCut) => {
      parts.push(part)
      size += part.length
      for (kept += part.length; kept > MOST.kept;) kept -= parts.shift()?.length ?? 0
      const words = { size: megabytes(size), most: megabytes(MOST.kept) }
      if (isCut) setCut(text('newestPart', words))
    }
    const show = async (): Promise<void> => {
      if (stream !== null) await readInto(place.current!, stream, onPart)
      if (payment === undefined) return
      update({ ...payment, received: size > data.maxStoredBytes ? 'once' : 'again' })
    }
    void show()
      .catch(() => setLost(true))
      .finally(() => setUrl(asFile(new Blob(parts))))
  }, [stream, payment])
  return (
    <>
      {cut !== '' && <p class="tokens">{cut}</p>}
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

/** How much of a stream, which may have no end, is shown (characters), and can be saved (bytes): the newest. */
const MOST = { shown: 1024 ** 2, kept: 64 * 1024 ** 2 }

/** Reads a stream, and shows it. @param onPart - Called with each part. */
async function readInto(
  place: Element,
  stream: ReadableStream<Uint8Array>,
  onPart: (part: Uint8Array<ArrayBuffer>, isCut: boolean) => void,
): Promise<void> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  for (let shown = 0, isCut = false; ;) {
    // oxlint-disable-next-line eslint/no-await-in-loop
    const { done, value } = await reader.read()
    const written = decoder.decode(value, { stream: !done })
    place.append(written)
    for (shown += written.length; shown > MOST.shown && place.childNodes.length > 1; isCut = true) {
      shown -= place.firstChild?.textContent?.length ?? 0
      place.firstChild?.remove()
    }
    if (done) return
    onPart(value as Uint8Array<ArrayBuffer>, isCut)
  }
}

function megabytes(bytes: number): string {
  const style = { style: 'unit', unit: 'megabyte', maximumFractionDigits: 0 } as const
  return new Intl.NumberFormat(data.locale, style).format(bytes / 1e6)
}
