import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import type { ProjectList } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { queryOf } from '../state/route.js'
import { useSession } from '../state/session.js'
import { Field } from './field.js'

interface ProjectFieldProps {
  readonly value: string
  readonly onValue: (project: string) => void
}

/** Merchants that are suggested at once. */
const MAX_SUGGESTED = 20

/** How long typing has to pause before the gateway is asked (ms). */
const PAUSE_MS = 150

const ALL = 'All merchants'

/** A choice: the id of a merchant, or nothing for all of them. */
interface Choice {
  readonly id: string
  readonly name: string | undefined
}

/** Lets an operator choose a merchant by typing a part of its id or name. */
export function ProjectField(props: ProjectFieldProps) {
  const { role } = useSession()
  return role === 'admin' ? <ProjectCombobox key={props.value} {...props} /> : null
}

/** An editable combobox with a listbox, as the ARIA Authoring Practices Guide describes it. */
function ProjectCombobox(props: ProjectFieldProps) {
  const listId = useId()
  const { list, text, type, open, close, onKeyDown } = useCombobox(props)
  return (
    <div class="combobox">
      <Field label="Merchant">
        {(control) => (
          <input
            {...control}
            type="text"
            role="combobox"
            aria-autocomplete="list"
            aria-expanded={list.isOpen}
            aria-controls={listId}
            {...(list.isOpen &&
              list.choices[list.active] && {
                'aria-activedescendant': `${listId}-${list.active}`,
              })}
            autoComplete="off"
            spellcheck={false}
            placeholder={ALL}
            value={text}
            onInput={(event) => type(event.currentTarget.value)}
            onClick={(event) => {
              event.currentTarget.select()
              open()
            }}
            onBlur={close}
            onKeyDown={onKeyDown}
          />
        )}
      </Field>
      <Choices id={listId} {...list} />
    </div>
  )
}

function useCombobox({ value, onValue }: ProjectFieldProps) {
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState(value)
  const [active, setActive] = useState(0)
  const { choices, note, isCurrent } = useChoices(isOpen ? text : undefined, value)
  const close = (): void => {
    setOpen(false)
    setText(value)
  }
  const onChoose = (choice: Choice | undefined): void => {
    if (choice === undefined) return
    setOpen(false)
    setText(choice.id)
    if (choice.id !== value) onValue(choice.id)
  }
  // Nothing is active in the list of an earlier text: Enter would choose what nobody typed.
  const list = { choices, note, active: isCurrent ? active : -1, isOpen, onChoose }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const { key } = event
    const step = { ArrowDown: 1, ArrowUp: -1 }[key]
    if (key === 'Escape' && isOpen) close()
    else if (key === 'Enter' && isOpen) onChoose(choices[list.active])
    else if (step !== undefined && isOpen)
      setActive((active + step + choices.length) % Math.max(1, choices.length))
    else if (step !== undefined) setOpen(true)
    else return
    event.preventDefault()
  }
  const type = (typed: string): void => {
    setText(typed)
    setActive(0)
    setOpen(true)
  }
  return { list, text, type, open: () => setOpen(true), close, onKeyDown }
}

interface ChoicesProps {
  readonly id: string
  readonly choices: readonly Choice[]
  readonly note: string | undefined
  readonly active: number
  readonly isOpen: boolean
  readonly onChoose: (choice: Choice) => void
}

function Choices({ id, choices, note, active, isOpen, onChoose }: ChoicesProps) {
  return (
    <div id={id} class="choices" role="listbox" aria-label="Merchants" hidden={!isOpen}>
      {choices.map((choice, index) => (
        <div
          key={choice.id}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          // Before the field loses the focus, which would close the list.
          onMouseDown={(event) => {
            event.preventDefault()
            onChoose(choice)
          }}
        >
          {choice.id === '' ? ALL : choice.id}
          {choice.name !== undefined && <small class="sub">{choice.name}</small>}
        </div>
      ))}
      {note !== undefined && (
        <div role="option" tabIndex={-1} aria-disabled="true" aria-selected="false" class="hint">
          {note}
        </div>
      )}
    </div>
  )
}

/** The merchants to choose from. @param text - What was typed; `undefined` while the list is closed. */
function useChoices(text: string | undefined, value: string) {
  const wanted = text === value ? '' : text?.trim()
  const search = usePaused(wanted)
  const query = queryOf({ search, sort: 'name', limit: String(MAX_SUGGESTED) })
  const { data, isLoading } = useLoad<ProjectList>(
    search === undefined ? undefined : `admin/projects${query}`,
  )
  const { projects = [], total = 0 } = data ?? {}
  const found = projects.map(({ id, merchant }): Choice => ({ id, name: merchant?.name }))
  const choices: readonly Choice[] = search ? found : [{ id: '', name: undefined }, ...found]
  const hidden = total - projects.length
  return {
    choices,
    isCurrent: search === wanted && !isLoading,
    note: hidden > 0 ? `${hidden} more. Type to narrow the list.` : emptyNote(choices, data),
  }
}

function emptyNote(choices: readonly Choice[], data: ProjectList | undefined): string | undefined {
  if (choices.length > 0) return undefined
  return data === undefined ? 'Loading…' : 'No merchant found.'
}

/** A text once nothing was typed for a moment. */
function usePaused(text: string | undefined): string | undefined {
  const [paused, setPaused] = useState(text)
  const isAtOnce = text === undefined || paused === undefined
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), isAtOnce ? 0 : PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, isAtOnce])
  return paused
}
