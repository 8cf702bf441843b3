import { useEffect, useId, useState } from 'preact/hooks'
import type { ProjectList } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { queryOf } from '../state/route.js'
import { useSession } from '../state/session.js'
import { Field, type Controlled } from './field.js'

/** How long typing has to pause before the gateway is asked (ms). */
const PAUSE_MS = 150

/** Lets an operator choose a merchant by typing a part of its id or name. */
export function ProjectField(props: Controlled) {
  const { role } = useSession()
  return role === 'admin' ? <Chooser key={props.value} {...props} /> : null
}

/** A field with the browser's list of suggestions. Its text is applied once it finds one merchant. */
function Chooser({ value, onValue }: Controlled) {
  const listId = useId()
  const [text, setText] = useState(value)
  const [search, setSearch] = useState<string>()
  const typed = text.trim()
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => setSearch(typed), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed, value])
  const query = queryOf({ search, sort: 'name', limit: '20' })
  const { data, isLoading } = useLoad<ProjectList>(search && `admin/projects${query}`)
  const found = data?.projects ?? []
  const isCurrent = search === typed && !isLoading
  const choose = (): void => {
    const exact = found.filter(({ id, merchant }) => typed === id || typed === merchant?.name)
    const [only, other] = exact.length > 0 ? exact : found
    if (typed === '') onValue('')
    else if (isCurrent && only && !other) onValue(only.id)
  }
  const isNobody = isCurrent && typed !== value && data?.total === 0
  return (
    <Field label="Merchant" error={isNobody ? 'No merchant found.' : undefined}>
      {(control) => (
        <>
          <input
            {...control}
            list={listId}
            autoComplete="off"
            spellcheck={false}
            placeholder="All merchants"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onChange={() => typed !== value && choose()}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return
              // Submitting the form would apply the other filters alone.
              event.preventDefault()
              choose()
            }}
          />
          <datalist id={listId}>
            {found.map(({ id, merchant }) => (
              <option key={id} value={id}>
                {merchant?.name ?? id}
              </option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}
