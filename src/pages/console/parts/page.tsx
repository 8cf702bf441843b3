import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { announce } from '../state/announce.js'
import { Button } from './button.js'

/** The first view after loading leaves the focus to the browser. */
let isFirst = true

interface PageProps {
  readonly title: string
  /** Shown next to the title. */
  readonly actions?: ComponentChildren
  /** Leads to the view above. */
  readonly back?: { readonly href: string; readonly label: string } | undefined
  readonly children: ComponentChildren
}

/** A view with its heading, which gets the focus. */
export function Page({ title, actions, back, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} – x402 gateway`
  }, [title])
  useEffect(() => {
    if (!isFirst) heading.current?.focus()
    isFirst = false
  }, [])
  return (
    <>
      <header class="page-head">
        <div>
          {back && (
            <a class="back" href={back.href}>
              <span aria-hidden="true">← </span>
              {back.label}
            </a>
          )}
          <h1 tabIndex={-1} ref={heading}>
            {title}
          </h1>
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

interface SectionProps {
  readonly title: string
  readonly note?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly class?: string
  readonly children: ComponentChildren
}

export function Section({ title, note, actions, class: className = '', children }: SectionProps) {
  return (
    <section class={`section ${className}`}>
      <header class="section-head">
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {note && <p class="note">{note}</p>}
      {children}
    </section>
  )
}

interface EditableSectionProps extends Omit<SectionProps, 'actions'> {
  readonly mayEdit: boolean
  /** The name of its button for screen readers, if `Edit` says too little. */
  readonly label?: string
  /** Said once it is saved. */
  readonly saved: string
  readonly onSaved: () => void
  /** Shown above what can be edited, or its form. */
  readonly lead?: ComponentChildren
  readonly form: (end: FormEnd) => ComponentChildren
}

/** Callbacks for the end of a form in a section. */
export interface FormEnd {
  readonly onCancel: () => void
  readonly onSaved: () => void
}

/** A section that a form takes the place of. */
export function EditableSection(props: EditableSectionProps) {
  const { mayEdit, label, saved, onSaved, lead, form, children, ...section } = props
  const [isEdited, setEdited] = useState(false)
  const end = {
    onCancel: () => setEdited(false),
    onSaved: () => {
      announce(saved)
      setEdited(false)
      onSaved()
    },
  }
  const edit = mayEdit && !isEdited && (
    <Button scope="manage" label={label} onClick={() => setEdited(true)}>
      Edit
    </Button>
  )
  return (
    <Section {...section} actions={edit}>
      {lead}
      {isEdited ? form(end) : children}
    </Section>
  )
}
