import { useRef, useState } from 'preact/hooks'
import type { ApiDocument, Operation, Parameter } from '../state/document.js'
import { Field } from '../parts/field.js'
import { AnswerView } from './answer-view.js'
import { PaymentSigner } from './payment-signer.js'
import { curlOf, prepare, send, type Answer, type PreparedRequest } from './request.js'
import { TokenFields, type TokensProps } from './tokens.js'

interface Props extends TokensProps {
  readonly api: ApiDocument
  readonly operation: Operation
  readonly parameters: readonly Parameter[]
  readonly example: unknown
}

/** A form that sends the request of an operation, and shows what comes back. */
export function TryIt({ api, operation, parameters, example, tokens, setTokens }: Props) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [text, setText] = useState(() => example && JSON.stringify(example, undefined, 2))
  const body = typeof text === 'string' ? text : undefined
  const request = prepare({ operation, parameters, values, body, tokens })
  const { answer, error, isSending, start, stop } = useSending()
  const submit = (event: Event): void => {
    event.preventDefault()
    start(request)
  }
  return (
    <section class="try">
      <h2>Try it</h2>
      <form class="try-form" onSubmit={submit}>
        <TokenFields {...{ api, operation, tokens, setTokens }} />
        {parameters.map((one) => (
          <ParameterField
            key={`${one.in} ${one.name}`}
            parameter={one}
            value={values[one.name] ?? ''}
            onValue={(value) => setValues({ ...values, [one.name]: value })}
          />
        ))}
        {body !== undefined && (
          <Field label="Body">
            {(id) => (
              <textarea
                id={id}
                rows={Math.min(24, body.split('\n').length + 1)}
                spellcheck={false}
                value={body}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
        {body?.includes('"paymentPayload"') === true && (
          <PaymentSigner tokens={tokens} onSigned={(signed) => setText(signed)} />
        )}
        <div class="actions">
          <button class="button button-main" type="submit" aria-disabled={isSending}>
            Send
          </button>
          {isSending && (
            <button class="button" type="button" onClick={stop}>
              Stop
            </button>
          )}
        </div>
      </form>
      <Command request={request} />
      {error !== undefined && <p role="alert">{error}</p>}
      {answer && <AnswerView answer={answer} />}
    </section>
  )
}

function Command({ request }: { readonly request: PreparedRequest }) {
  return (
    <details>
      <summary>As a command</summary>
      <pre class="code" tabIndex={0} role="region" aria-label="The request as a command">
        {curlOf(request)}
      </pre>
    </details>
  )
}

function ParameterField({
  parameter: { name, in: place, required, schema = {}, example },
  value,
  onValue,
}: {
  readonly parameter: Parameter
  readonly value: string
  readonly onValue: (value: string) => void
}) {
  const id = `parameter-${place}-${name}`
  const choices = schema.enum?.map(String)
  return (
    <div class="field">
      <label for={id}>
        {name} <span class="kind">{place}</span>
      </label>
      {choices ? (
        <select id={id} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
          <option value="">(not given)</option>
          {choices.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          value={value}
          required={required === true}
          spellcheck={false}
          autocomplete="off"
          placeholder={textOf(example ?? schema.examples?.[0] ?? schema.default)}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </div>
  )
}

/** A value as it is written in a URL or header. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** Sends one request at a time. */
function useSending() {
  const [answer, setAnswer] = useState<Answer>()
  const [error, setError] = useState<string>()
  const [isSending, setIsSending] = useState(false)
  const runningRef = useRef<AbortController | null>(null)
  const start = (request: PreparedRequest): void => {
    if (isSending) return
    const controller = new AbortController()
    runningRef.current = controller
    setIsSending(true)
    setError(undefined)
    setAnswer(undefined)
    send(request, controller.signal, setAnswer)
      .catch((failure: unknown) => {
        if (!controller.signal.aborted) setError(`The gateway did not answer: ${String(failure)}`)
      })
      .finally(() => setIsSending(false))
  }
  return { answer, error, isSending, start, stop: () => runningRef.current?.abort() }
}
