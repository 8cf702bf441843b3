import { pretty, type Answer } from './request.js'

/** What came back. */
export function AnswerView({ answer }: { readonly answer: Answer }) {
  const { status, statusText, milliseconds, headers, text, isOpen } = answer
  return (
    <div class="answer">
      <h3>Answer</h3>
      <p role="status">
        <span class={`status status-${String(status).charAt(0)}`}>{status}</span> {statusText} in{' '}
        {milliseconds} ms{isOpen && ', still open'}
      </p>
      <details>
        <summary>Headers</summary>
        <dl class="headers">
          {headers.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="break">{value}</dd>
            </div>
          ))}
        </dl>
      </details>
      {text !== '' && (
        <pre class="code" tabIndex={0} role="region" aria-label="The body of the answer">
          {pretty(text)}
        </pre>
      )}
    </div>
  )
}
