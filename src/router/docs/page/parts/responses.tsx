import { resolve, type ApiDocument, type Operation } from '../state/document.js'
import { SchemaView } from './schema-view.js'
import { Text } from './text.js'

/** What an operation answers, by status. */
export function Responses({
  api,
  operation,
}: {
  readonly api: ApiDocument
  readonly operation: Operation
}) {
  return (
    <section>
      <h2>Responses</h2>
      {Object.entries(operation.responses).map(([status, given]) => {
        const { description, content = {}, headers = {} } = resolve(api, given)
        const [type, media] = Object.entries(content)[0] ?? []
        const own = Object.keys(headers).filter((name) => !SHARED.includes(name))
        return (
          <article class="response" key={status}>
            <h3>
              <span class={`status status-${status.charAt(0)}`}>{status}</span>{' '}
              {type !== undefined && <code>{type}</code>}
            </h3>
            <Text text={description} />
            {own.length > 0 && <p class="hint">Headers: {own.join(', ')}</p>}
            {media?.schema && status < '300' && <SchemaView api={api} schema={media.schema} />}
          </article>
        )
      })}
    </section>
  )
}

/** Headers of every response, which the introduction need not repeat. */
const SHARED = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy']
