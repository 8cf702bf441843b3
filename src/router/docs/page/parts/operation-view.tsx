import { resolve, type ApiDocument, type Operation, type Parameter } from '../state/document.js'
import { TryIt } from '../try/try-it.js'
import type { TokensProps } from '../try/tokens.js'
import { Method } from './menu.js'
import { Responses } from './responses.js'
import { formOf, SchemaView } from './schema-view.js'
import { Inline, Text } from './text.js'

interface Props extends TokensProps {
  readonly api: ApiDocument
  readonly operation: Operation
}

/** One operation: what it does, what it takes, what it answers, and a form to try it. */
export function OperationView({ api, operation, ...tokens }: Props) {
  const { summary, method, path, description, requestBody } = operation
  const parameters = (operation.parameters ?? []).map((one) => resolve(api, one))
  const body = requestBody?.content['application/json']
  return (
    <>
      <h1 tabIndex={-1}>{summary}</h1>
      <p class="where">
        <Method method={method} /> <code class="break">{path}</code>
      </p>
      <Text text={description} />
      <Access operation={operation} />
      {parameters.length > 0 && <Parameters parameters={parameters} />}
      {body?.schema && (
        <section>
          <h2>Body</h2>
          <SchemaView api={api} schema={body.schema} />
        </section>
      )}
      <TryIt {...{ api, operation, parameters }} example={body?.example} {...tokens} />
      <Responses api={api} operation={operation} />
    </>
  )
}

const ACCESS: Readonly<Record<string, string>> = {
  projectToken: 'the token of a project',
  adminToken: 'an admin token',
  consoleSession: 'a session of the console',
}

function Access({ operation: { security = [] } }: { readonly operation: Operation }) {
  const ways = security.flatMap((one) => Object.keys(one)).map((name) => ACCESS[name] ?? name)
  return (
    <p class="hint">
      {ways.length === 0 ? 'Public: no token is needed.' : `Needs ${ways.join(', or ')}.`}
    </p>
  )
}

function Parameters({ parameters }: { readonly parameters: readonly Parameter[] }) {
  return (
    <section>
      <h2>Parameters</h2>
      <dl class="members">
        {parameters.map(({ name, in: place, required, description = '', schema = {} }) => (
          <div key={`${place} ${name}`}>
            <dt>
              <code>{name}</code>{' '}
              <span class="kind">
                {place}, {formOf(schema)}
                {required === true && ', required'}
              </span>
            </dt>
            <dd>
              <Inline text={description} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
