import { nameOf, resolve, type ApiDocument, type Schema } from '../state/document.js'
import { Inline, Text } from './text.js'

interface Props {
  readonly api: ApiDocument
  readonly schema: Schema
  /** How deep the schema is in others. */
  readonly depth?: number
}

/** Deeper members are not shown: the document has them. */
const MAX_DEPTH = 6

/** The members of a document, those of members folded. */
export function SchemaView({ api, schema: given, depth = 0 }: Props) {
  const schema = resolve(api, given)
  const choices = (schema.oneOf ?? schema.anyOf ?? []).filter((one) => one.type !== 'null')
  if (depth > MAX_DEPTH) return <p class="hint">See openapi.json.</p>
  if (choices.length > 0)
    return (
      <ol class="choices">
        {choices.map((choice, index) => (
          <li key={nameOf(choice) ?? index}>
            <Inline text={resolve(api, choice).description ?? nameOf(choice) ?? formOf(choice)} />
            <SchemaView api={api} schema={choice} depth={depth + 1} />
          </li>
        ))}
      </ol>
    )
  const inner = innerOf(schema)
  if (schema.properties === undefined)
    return inner ? <SchemaView api={api} schema={inner} depth={depth + 1} /> : null
  return (
    <dl class="members">
      {Object.entries(schema.properties).map(([name, member]) => (
        <Member
          key={name}
          {...{ api, name, depth, schema: member }}
          isRequired={schema.required?.includes(name) === true}
        />
      ))}
    </dl>
  )
}

function Member({
  api,
  name,
  schema: given,
  depth = 0,
  isRequired,
}: Props & { readonly name: string; readonly isRequired: boolean }) {
  const schema = resolve(api, given)
  const [example] = schema.examples ?? []
  return (
    <div>
      <dt>
        <code>{name}</code>{' '}
        <span class="kind">
          {formOf(schema)}
          {isRequired ? '' : ', optional'}
        </span>
      </dt>
      <dd>
        <Text text={given.description ?? schema.description ?? ''} />
        {schema.default !== undefined && (
          <p class="hint">
            Default: <code>{JSON.stringify(schema.default)}</code>
          </p>
        )}
        {example !== undefined && (
          <p class="hint">
            Example: <code class="break">{JSON.stringify(example)}</code>
          </p>
        )}
        {hasMembers(api, schema) && (
          <details>
            <summary>
              Members<span class="hidden"> of {name}</span>
            </summary>
            <SchemaView api={api} schema={schema} depth={depth + 1} />
          </details>
        )}
      </dd>
    </div>
  )
}

function hasMembers(api: ApiDocument, schema: Schema): boolean {
  const inner = innerOf(schema)
  if (inner) return hasMembers(api, resolve(api, inner))
  if (schema.properties) return true
  return (schema.oneOf ?? schema.anyOf ?? []).some((one) => hasMembers(api, resolve(api, one)))
}

/** What a list or a map has many of. */
function innerOf({ items, additionalProperties }: Schema): Schema | undefined {
  if (items) return items
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

/** The form of a value in words. */
export function formOf(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum && schema.enum.length <= 8) return schema.enum.map(String).join(' | ')
  const name = nameOf(schema)
  if (name !== undefined) return name
  const choices = schema.oneOf ?? schema.anyOf
  if (choices) return [...new Set(choices.map(formOf))].join(' or ')
  const types = [schema.type ?? 'any'].flat()
  const text = types.map((type) => (type === 'array' && schema.items ? listOf(schema.items) : type))
  return [text.join(' or '), schema.format, rangeOf(schema)].filter(Boolean).join(', ')
}

const listOf = (items: Schema): string => `list of ${formOf(items)}`

function rangeOf({ minimum, maximum }: Schema): string | undefined {
  if (minimum === undefined && maximum === undefined) return undefined
  if (maximum === undefined) return `at least ${minimum}`
  return minimum === undefined ? `at most ${maximum}` : `${minimum} to ${maximum}`
}
