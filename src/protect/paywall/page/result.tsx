import { useEffect, useRef, useState } from 'preact/hooks'
import type { Delivery } from './deliver.js'
import { keep } from './kept-payment.js'
import { NoticeText } from './notice.js'
import { text } from './texts.js'

interface ResultProps {
  readonly delivery: Delivery
  readonly transaction: string | undefined
}

export function Result({ delivery, transaction }: ResultProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  if (delivery.kind === 'leaving')
    return (
      <p class="step" role="status">
        {text('receiving')}
      </p>
    )
  const isFile = delivery.kind === 'file'
  return (
    <section class="result">
      <h2 ref={heading} tabIndex={-1}>
        {isFile ? text('saved', { name: delivery.name }) : text('paid')}
      </h2>
      <NoticeText notice={{ message: '', transaction }} />
      <Goods delivery={delivery} />
    </section>
  )
}

function Goods({ delivery }: { readonly delivery: Exclude<Delivery, { kind: 'leaving' }> }) {
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
      return <pre tabIndex={0}>{delivery.json}</pre>
    case 'media':
      if (delivery.tag === 'img') return <img src={delivery.url} alt="" />
      return delivery.tag === 'audio' ? (
        <audio src={delivery.url} controls />
      ) : (
        <video src={delivery.url} controls />
      )
    case 'text':
      return <StreamedText stream={delivery.stream} />
  }
}

/** Shows text as it arrives. */
function StreamedText({ stream }: { readonly stream: ReadableStream<Uint8Array> | null }) {
  const place = useRef<HTMLPreElement>(null)
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    readInto(stream, (part) => place.current?.append(part)).then(
      () => keep(undefined),
      () => setLost(true),
    )
  }, [stream])
  return (
    <>
      <pre ref={place} tabIndex={0} />
      {isLost && <NoticeText notice={{ message: text('connectionLost') }} />}
    </>
  )
}

async function readInto(
  stream: ReadableStream<Uint8Array> | null,
  append: (part: string) => void,
): Promise<void> {
  const reader = stream?.getReader()
  if (reader === undefined) return
  const decoder = new TextDecoder()
  for (;;) {
    // oxlint-disable-next-line eslint/no-await-in-loop
    const { done, value } = await reader.read()
    append(decoder.decode(value, { stream: !done }))
    if (done) return
  }
}
