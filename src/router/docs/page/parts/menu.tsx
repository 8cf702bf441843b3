import { useState } from 'preact/hooks'
import { Field } from './field.js'
import { operationsOf, type ApiDocument, type Operation } from '../state/document.js'

/** All operations by heading, with a filter. On a phone it is folded. */
export function Menu({
  api,
  current,
}: {
  readonly api: ApiDocument
  readonly current: string | undefined
}) {
  const [filter, setFilter] = useState('')
  const wanted = filter.trim().toLowerCase()
  const shown = operationsOf(api).filter(({ method, path, summary }) =>
    `${method} ${path} ${summary}`.toLowerCase().includes(wanted),
  )
  const groups = api.tags
    .map(({ name }) => ({ name, operations: shown.filter(({ tags }) => tags.includes(name)) }))
    .filter(({ operations }) => operations.length > 0)
  return (
    <nav class="menu" aria-label="Operations">
      <a class="brand" href="#/">
        x402 gateway API <small>{api.info.version}</small>
      </a>
      <details open={matchMedia('(min-width: 900px)').matches}>
        <summary>Operations</summary>
        <Field label="Filter">
          {(id) => (
            <input
              id={id}
              type="search"
              value={filter}
              onInput={(event) => setFilter(event.currentTarget.value)}
            />
          )}
        </Field>
        <p class="hidden" role="status">
          {wanted !== '' && `${shown.length} operations`}
        </p>
        {groups.map(({ name, operations }) => (
          <section key={name}>
            <h2>{name}</h2>
            <ul>
              {operations.map((one) => (
                <Entry key={one.operationId} operation={one} current={current} />
              ))}
            </ul>
          </section>
        ))}
        {groups.length === 0 && <p class="hint">Nothing of that name.</p>}
      </details>
    </nav>
  )
}

function Entry({
  operation: { operationId, method, summary },
  current,
}: {
  readonly operation: Operation
  readonly current: string | undefined
}) {
  return (
    <li>
      <a
        href={`#${operationId}`}
        aria-current={operationId === current ? 'page' : undefined}
        onClick={foldMenu}
      >
        <Method method={method} /> {summary}
      </a>
    </li>
  )
}

/** On a phone, what was chosen is below the menu. */
function foldMenu(event: Event): void {
  if (matchMedia('(min-width: 900px)').matches) return
  const link = event.currentTarget as HTMLElement
  link.closest('details')?.removeAttribute('open')
}

/** The method of an operation. */
export function Method({ method }: { readonly method: string }) {
  return <span class={`method method-${method.toLowerCase()}`}>{method}</span>
}
